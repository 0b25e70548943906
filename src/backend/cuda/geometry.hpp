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

/// The operands of a strided kernel as its parameter block has them: operand 0 is the output.
struct StridedOperands {
  std::span<const std::uint64_t> pointers;
  const std::uint32_t* itemsizes;
  const std::uint64_t* strides;  ///< in bytes, operand-major
  int rank;

  std::int64_t stride(std::size_t operand, int axis) const {
    const auto at = operand * static_cast<std::size_t>(rank) + static_cast<std::size_t>(axis);
    return static_cast<std::int64_t>(strides[at]);
  }
};

/// Vectors along the last axis. Bit k of `wide` says that input k is dense along it; the others do
/// not move along it.
struct VectorAccess {
  int width = 1;
  std::uint16_t wide = 0;  ///< 0 where the width is 1
};
/// Of a strided map with rows of `columns` elements.
VectorAccess map_vectors(const StridedOperands& operands, std::int64_t columns);
/// Of the inputs of a reduction along its last axis, the only one that is reduced.
VectorAccess reduce_vectors(const StridedOperands& operands);

struct FlatGeometry {
  unsigned grid_x;
};
inline constexpr unsigned flat_threads = 256;
/// Throws LogicError where the grid would be larger than CUDA allows.
FlatGeometry flat_geometry(std::int64_t size, int vector_width);

struct StridedShape {
  std::int64_t columns, rows, span;
  std::int64_t lead = 0;  ///< idle columns before the first one
  int inputs = 1, vector_width = 1;
};
/// How many columns left of the first one map_strided starts.
std::int64_t lead_of(const StridedOperands& operands, std::int64_t columns);

/// A block covers block_x vectors and rows_a_thread * block_y rows. The last rows, too few for
/// that, have blocks of block_y rows. A grid that has not enough blocks strides.
struct StridedGeometry {
  unsigned grid_x, grid_y, block_x, block_y;
  int rows_a_thread;
  bool wide_index;  ///< 64-bit offsets
};
StridedGeometry strided_geometry(const StridedShape& shape, int multiprocessors);

struct ReduceShape {
  std::int64_t kept, reduced, span;
  bool along_reduced, can_split;
  int vector_width = 1;
};
struct ReduceGeometry {
  unsigned grid_x, block_x, block_y;
  std::int64_t splits, chunk;  ///< reduced elements [s * chunk, (s + 1) * chunk) belong to split s
  bool wide_index;
};
ReduceGeometry reduce_geometry(const ReduceShape& shape, int multiprocessors);

inline constexpr unsigned finish_threads = 128;

}  // namespace quarry::backend::cuda
