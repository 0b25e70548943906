// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <span>
#include <string>
#include <utility>

#include "backend/source_kernel.hpp"

namespace quarry::backend::cuda {

struct LoadedImage {
  CUresult result = CUDA_SUCCESS;
  CUmodule module = nullptr;
  LoadLog log;
};
/// Machine code or PTX into the current context. PTX has to end with a null character, which
/// std::string has.
LoadedImage load_image(const std::string& image,
                       std::span<const std::pair<JitOption, unsigned>> options = {});

/// Whether the driver rejects the code, as opposed to a failure of the device.
bool is_refused(CUresult result);

}  // namespace quarry::backend::cuda
