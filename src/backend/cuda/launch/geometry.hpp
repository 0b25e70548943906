// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/vectors.hpp"

/// Block shapes and grids of launches: pure functions of the numbers of a call.
namespace quarry::backend::cuda {

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
/// that, have blocks of block_y rows. If there are more such blocks than grid_y, blocks loop:
/// beyond CUDA's limit, and where kernels have many operands.
struct StridedGeometry {
  unsigned grid_x, grid_y, block_x, block_y;
  int rows_a_thread;
  bool wide_index;  ///< 64-bit offsets
};
StridedGeometry strided_geometry(const StridedShape& shape, int multiprocessors);
/// Whether rows of an input are the same one, but so far apart that the cache has not the first of
/// them when the next one is read, and would have if all rows of so many columns came first.
bool repeats_rows(const CallOperands& operands, const Shape& shape, std::int64_t columns,
                  std::int64_t cache);
/// Of map_masked_rows. Short rows are stored by vectors that have some of several. Of others a warp
/// reads several groups at once where they are many, and few groups are shared by as many warps as
/// keep the device busy.
struct MaskedRowsGeometry {
  unsigned grid;
  kernels::masked_rows walk;
};
MaskedRowsGeometry masked_rows_geometry(std::int64_t rows, std::int64_t row_bytes,
                                        int multiprocessors);

/// Of map_across, whose threads have `vectors` of the outputs each.
struct AcrossGeometry {
  unsigned grid;
  bool wide_index;
};
AcrossGeometry across_geometry(std::int64_t size, std::int64_t span, int vector_width, int vectors);

/// How threads and vectors are along the axes of a reduction. In tiles the output's neighbours are
/// along kept axis `tile_axis`; of `pieces` only the vectors are along the reduced axes.
struct ReduceOrder {
  bool along_reduced;
  bool pieces = false;
  std::optional<std::size_t> tile_axis = {};
  bool folded = false;     ///< rows of several reduced positions are one
  bool unaligned = false;  ///< vectors of outputs may begin at any element
  int accesses = 0;        ///< of reduce_few
};
/// The argument Along of reduce: kernels/reduce_body.cuh.
int along_argument(const ReduceOrder& order, VectorPlaces places);

inline constexpr std::int64_t light_accumulator = 8;  ///< bytes, at most

struct ReduceShape {
  std::int64_t kept, reduced, span;
  bool along_reduced = false;
  std::int64_t columns = 1;  ///< positions on the last kept axis
  int vector_width = 1;
  bool in_tiles = false;   ///< of rows of `columns` outputs and of several rows
  bool in_pieces = false;  ///< vectors along the last reduced axis, threads along the kept ones
  std::int64_t most_splits = 65535;  ///< so that partial results are a small part of the input
  int resident = 4;                  ///< blocks that a multiprocessor runs at once
  std::int64_t vector_bytes = 8;     ///< of all inputs, rounded down to a power of two
  std::int64_t accumulator_bytes = 8;

  bool has_light_accumulators() const { return accumulator_bytes <= light_accumulator; }
};
struct ReduceGeometry {
  unsigned grid_x, block_x, block_y;
  std::int64_t splits, chunk;  ///< reduced elements [s * chunk, (s + 1) * chunk) belong to split s
  bool wide_index;
  bool runs_at_once = false;  ///< there are as many splits as keep the device busy
  bool has_choice = false;    ///< blocks and splits depend on the resident blocks
};
ReduceGeometry reduce_geometry(const ReduceShape& given, int multiprocessors);
/// How many blocks of 256 threads a multiprocessor has of a reduction that reads so many bytes, if
/// it can run `possible`. All of fewer than eight: where there are less, those of the kernels ahead
/// and behind leave room for unequal numbers. Of eight, half where all blocks run at once, since it
/// takes time to combine what they have found, but all for one output of many bytes.
int resident_blocks(const ReduceShape& shape, bool runs_at_once, int possible, std::uint64_t bytes,
                    int multiprocessors);
/// Of reduce_few: a thread has `groups` vectors of outputs, and of pieces outputs.
struct FewGeometry {
  unsigned grid_x, block_x, block_y;
  bool wide_index;
};
FewGeometry few_geometry(const ReduceShape& shape, int groups);

/// Of reduce_finish.
struct FinishGeometry {
  unsigned grid_x, block_x, block_y;
};
FinishGeometry finish_geometry(std::int64_t kept, std::int64_t splits);
/// Whether the last block of the reduction can do the same: it has the threads, and the partial
/// accumulators, `bytes` in each split, are few.
bool can_finish(const ReduceGeometry& reduce, const FinishGeometry& finish, std::size_t bytes);

struct SelectShape {
  std::int64_t elements, span;  ///< elements, or rows
  int vector_width = 1;
  std::int64_t row_bytes = 0;     ///< 0: elements are selected
  std::uint32_t packed_size = 0;  ///< of elements that kernels/pack_elements.cuh packs, or 0
};
struct SelectGeometry {
  unsigned blocks;  ///< one makes both passes
  std::int64_t words_of_warp;
  bool wide_index;

  /// Of bits, for all warps.
  std::int64_t words() const;
};
SelectGeometry select_geometry(const SelectShape& shape, int multiprocessors);

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
