// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/kernel_call.hpp"

/// Vector widths, block shapes and grids of launches: pure functions of the numbers of a call.
namespace quarry::backend::cuda {

/// The operands of a call, of which the first `outputs` are written.
struct CallOperands {
  std::span<const Operand> all;
  const std::uint32_t* itemsizes;
  std::size_t outputs;

  explicit CallOperands(const KernelCall& call)
      : CallOperands(call.operands, call.program->itemsize,
                     static_cast<std::size_t>(call.program->outputs)) {}
  CallOperands(std::span<const Operand> operands, const std::uint32_t* sizes, std::size_t written)
      : all(operands), itemsizes(sizes), outputs(written) {}

  std::size_t rank() const { return all[0].strides.size(); }
  std::uint64_t address(std::size_t k) const {
    return reinterpret_cast<std::uint64_t>(all[k].data);
  }
  std::int64_t stride(std::size_t k, std::size_t axis) const { return all[k].strides[axis]; }
  std::int64_t last_stride(std::size_t k) const { return all[k].strides.back(); }
};

/// The elements per thread of map_flat: the largest power of two with which all operands are
/// accessed by aligned vectors of at most 16 bytes.
int vector_width(const CallOperands& operands);

/// Where the vectors of an access are.
enum class VectorPlaces : std::uint8_t {
  aligned,
  shifted  ///< aligned too, but rows begin before them, as many elements in all inputs
};
/// Vectors along an axis. Bit k of `wide` says that input k is dense along it, or has every second
/// element, see quarry/kernels/access.hpp; the others have the stride 0 along it.
struct VectorAccess {
  int width = 1;
  int wide = 0;  ///< 0 where the width is 1
  VectorPlaces places = VectorPlaces::aligned;
};
/// How threads and vectors are along the axes of a reduction. In tiles the output's neighbours are
/// along kept axis `tile_axis`; of `pieces` only the vectors are along the reduced axes.
struct ReduceOrder {
  bool along_reduced;
  bool pieces = false;
  std::optional<std::size_t> tile_axis = {};
};
/// The argument Along of reduce: kernels/reduce.cuh.
int along_argument(const ReduceOrder& order, VectorPlaces places);
/// The vectors of a strided map with rows of `columns` elements.
VectorAccess map_vectors(const CallOperands& operands, std::int64_t columns);
/// The same where rows begin at any element, but those of all operands as far from a vector. None
/// where elements differ in size.
VectorAccess shifted_map_vectors(const CallOperands& operands);
/// The same where rows of `columns` elements begin and end at any element, and inputs too, which
/// may have every second element: kernels/map_unaligned.cuh. None where rows are shorter than a few
/// vectors, or where aligned vectors of `aligned` elements are as fast.
VectorAccess unaligned_map_vectors(const CallOperands& operands, std::int64_t columns, int aligned);
/// The vectors of a map of dense outputs that go on from a row to the next one:
/// kernels/map_across.cuh.
struct VectorsAcross {
  int width = 1;
  int wide = 0, flat = 0;
};
VectorsAcross vectors_across(const CallOperands& operands, const Shape& shape);
/// The vectors of the inputs along the last axis, to which every row is aligned.
VectorAccess aligned_vectors(const CallOperands& operands);
/// The vectors of the inputs of a reduction along its last axis, of `extent` elements, one of
/// `reduced_rank` reduced ones. Their alignment: kernels/reduce.cuh.
VectorAccess row_vectors(const CallOperands& operands, std::size_t reduced_rank,
                         std::int64_t extent);
/// The same for threads along the kept axes: every row is aligned.
VectorAccess piece_vectors(const CallOperands& operands, std::int64_t extent);
/// The same along its last kept axis, number `axis`.
VectorAccess column_vectors(const CallOperands& operands, std::size_t axis, std::int64_t extent);

inline constexpr unsigned flat_threads = 256;
/// The number of blocks of map_flat: a thread for every vector and for each element behind them.
/// Throws LogicError if the grid would be larger than CUDA allows.
unsigned flat_grid(std::int64_t size, int vector_width);

struct StridedShape {
  std::int64_t columns, rows, span;
  std::int64_t lead = 0;  ///< idle columns before the first one
  int operands = 1;       ///< read or written besides the first output
  int vector_width = 1;
};
/// By how many columns the grid of map_strided begins before the first one: kernels/map.cuh.
std::int64_t lead_of(const CallOperands& operands, std::int64_t columns);
/// By how many the grid of map_unaligned does at most, as rows begin at any element.
std::int64_t unaligned_lead(std::uint32_t itemsize, std::int64_t columns, int width);

/// A block computes block_x vectors of rows_a_thread * block_y rows; the last rows, too few for
/// that, have blocks of block_y rows. If there are more such blocks than grid_y, blocks loop.
struct StridedGeometry {
  unsigned grid_x, grid_y, block_x, block_y;
  int rows_a_thread;
  bool wide_index;  ///< 64-bit offsets
};
StridedGeometry strided_geometry(const StridedShape& shape, int multiprocessors);
/// Of map_across, a thread for every vector.
struct AcrossGeometry {
  unsigned grid;
  bool wide_index;
};
AcrossGeometry across_geometry(std::int64_t size, std::int64_t span, int vector_width);

struct ReduceShape {
  std::int64_t kept, reduced, span;
  bool along_reduced;
  std::int64_t columns = 1;  ///< positions on the last kept axis
  int vector_width = 1;
  bool in_tiles = false;   ///< of rows of `columns` outputs and of several rows
  bool in_pieces = false;  ///< vectors along the last reduced axis, threads along the kept ones
  std::int64_t most_splits = 65535;  ///< so that partial results are a small part of the input
};
struct ReduceGeometry {
  unsigned grid_x, block_x, block_y;
  std::int64_t splits, chunk;  ///< reduced elements [s * chunk, (s + 1) * chunk) belong to split s
  bool wide_index;
};
ReduceGeometry reduce_geometry(const ReduceShape& shape, int multiprocessors);

/// Of reduce_finish.
struct FinishGeometry {
  unsigned grid_x, block_x, block_y;
};
FinishGeometry finish_geometry(std::int64_t kept, std::int64_t splits);

struct BincountShape {
  std::int64_t elements, bins;
  int vector_width = 1;
};
inline constexpr unsigned bincount_threads = 512;
struct BincountGeometry {
  unsigned blocks;
  std::int64_t chunk;  ///< elements [b * chunk, (b + 1) * chunk) belong to block b
  bool is_private;     ///< counters of a block's own, of 32 bits, in shared memory
};
BincountGeometry bincount_geometry(const BincountShape& shape, int multiprocessors);

}  // namespace quarry::backend::cuda
