// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "backend/cuda/launch/launch.hpp"

/// Maps whose single elements of a side operand are accessed part by part (kernels/map_parted.cuh).
namespace quarry::backend::cuda {

/// How a side operand is cut: parts have 1 << shift places each.
struct PartedCut {
  int shift;
  std::int64_t parts;
};
/// Of `bytes` with `count` accesses to elements of `size` bytes, a power of two. The parts that
/// blocks access at the same time stay in the cache together. None if it takes too many of them, or
/// if sorting takes more time than accesses in no order, of which each takes a line of memory: all
/// of the operand is read once, by how few elements however.
std::optional<PartedCut> cut_of_elements(std::int64_t bytes, std::int64_t size, std::int64_t count,
                                         std::int64_t cache);
/// Of bits: as many parts as keep all multiprocessors busy. None if a block has no room for a part.
std::optional<PartedCut> cut_of_bits(std::int64_t bits);

/// Runs a map along one axis that, for each of its elements, reads or replaces one of a side
/// operand that is larger than the cache, or marks a bit, where there are enough accesses to be
/// worth sorting. Returns false for others, and where there is no memory for it.
bool launch_parted(const Launcher& launcher);

}  // namespace quarry::backend::cuda
