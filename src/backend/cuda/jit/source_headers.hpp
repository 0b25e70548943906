// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/jit/kernel_source.hpp"

/// The headers that source of programs can include without files: quarry/device_view.cuh,
/// quarry/textures.cuh and all of quarry/kernels that is embedded.
namespace quarry::backend::cuda {

const std::vector<EmbeddedHeader>& source_headers();

/// Changes with any of them.
const std::string& source_headers_digest();

/// Whether the text may be compiled to something else when files change: where it says "include" it
/// includes one of these headers, by the directive as it is usually written.
bool may_read_files(std::string_view text);

}  // namespace quarry::backend::cuda
