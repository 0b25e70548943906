// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

/// Which instantiation of a kernel runs, and with how many blocks: pure functions of a call's
/// numbers.
namespace quarry::backend::cuda {

/// Elements a thread of map_flat moves at once: the largest power of two with which every operand
/// is moved by aligned accesses of at most 16 bytes. `pointers[k]` has elements of `itemsizes[k]`
/// bytes.
int vector_width(std::span<const std::uint64_t> pointers, const std::uint32_t* itemsizes);

struct FlatGeometry {
  unsigned grid_x;
};
inline constexpr unsigned flat_threads = 256;
/// Throws LogicError where the grid would be larger than CUDA allows.
FlatGeometry flat_geometry(std::int64_t size, int vector_width);

/// A block covers block_x columns and rows_a_thread * block_y rows; a grid that has not enough rows
/// strides.
struct StridedGeometry {
  unsigned grid_x, grid_y, block_x, block_y;
  int rows_a_thread;
  bool wide_index;  ///< 64-bit offsets
};
StridedGeometry strided_geometry(std::int64_t columns, std::int64_t rows, std::int64_t span,
                                 int multiprocessors);

struct ReduceShape {
  std::int64_t kept, reduced, span;
  bool along_reduced, can_split;
};
struct ReduceGeometry {
  unsigned grid_x, block_x, block_y;
  std::int64_t splits, chunk;  ///< reduced elements [s * chunk, (s + 1) * chunk) belong to split s
  bool wide_index;
};
ReduceGeometry reduce_geometry(const ReduceShape& shape, int multiprocessors);

inline constexpr unsigned finish_threads = 128;

}  // namespace quarry::backend::cuda
