// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quarry/kernels/program.hpp>

#include "backend/cuda/variant.hpp"

/// Quarry's kernels without a GPU: the launch is checked as the hardware would punish it, then the
/// program's CPU loops compute, row by row, at the addresses and with the index width of the
/// kernel.
namespace quarry::fake {

struct KernelName {
  backend::cuda::Variant variant;
  std::string program;  ///< the first template argument
};
/// Of "quarry::kernels::map_flat<NAME, 4>" and the like.
std::optional<KernelName> parse_kernel(std::string_view expression);

/// A launch with its parameters as they were at the call.
struct Launch {
  std::string expression;
  backend::cuda::Variant variant;
  const kernels::program* program;
  int device;
  std::int64_t grid_x, grid_y, block_x, block_y;
  std::vector<std::uint64_t> words;  ///< the parameter block; of reduce_finish its five parameters
  CUdeviceptr partial = 0;
  std::uint64_t seed = 0;  ///< in which order rows are computed
};

/// How many words the parameter block has.
std::size_t block_words(const kernels::program& program, const backend::cuda::Variant& variant);

CUresult run_launch(const Launch& launch);

}  // namespace quarry::fake
