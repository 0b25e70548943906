// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <string>

namespace quarry::backend::cuda {

/// Machine code for the GPU of the current context, or why there is none.
struct Assembled {
  CUresult result = CUDA_SUCCESS;
  std::string cubin = {};
};

/// Translates PTX by the driver's own compiler, in a small part of the time that NVRTC takes for
/// the same kernel in C++.
Assembled assemble(const std::string& ptx);

}  // namespace quarry::backend::cuda
