// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quarry::backend::cuda {

/// A kernel as PTX, and the name of its entry.
struct PtxKernel {
  std::string text;
  std::string entry;
};

/// The kernel of this name (quarry::kernels::map_flat<map_of<...>, 4>), written without a compiler
/// of C++, for GPUs of this compute capability. It has the parameters, the grid and the results of
/// the kernel in kernels/. Nothing if it is no kernel of which there is PTX (others than map_flat
/// and map_strided, and those of them that NVRTC makes faster; expressions that PtxExpressions does
/// not know), or the GPU is older than 8.0.
std::optional<PtxKernel> ptx_kernel(std::string_view instantiation, std::string_view entry,
                                    std::pair<int, int> compute_capability);

}  // namespace quarry::backend::cuda
