// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <optional>
#include <string>

/// CUDA's own occupancy calculator (cuda_occupancy.h), where the toolkit has it.
namespace quarry::fake {

/// The numbers of a GPU in which today's differ.
struct OccupancyOf {
  int major, minor, threads_per_mp, blocks_per_mp, shared_per_mp, shared_per_block;
};

struct CalculatedOccupancy {
  int blocks = 0;
  /// Those of "device", "warps", "regs", "smem" that limit it, separated by spaces.
  std::string limited_by = {};
};
/// For a kernel that has asked for its dynamic shared memory. Nothing without the calculator.
std::optional<CalculatedOccupancy> calculated_occupancy(const OccupancyOf& gpu, int threads,
                                                        int registers, std::size_t fixed,
                                                        std::size_t dynamic);

}  // namespace quarry::fake
