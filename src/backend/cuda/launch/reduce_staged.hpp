// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <optional>

#include "backend/kernel_call.hpp"

/// Reductions of short rows that begin at any element, by way of shared memory:
/// kernels/reduce_staged.cuh.
namespace quarry::backend::cuda {

/// Rows of `columns` outputs along the last kept axis, which begin `pitch` bytes apart, of `length`
/// elements each, which are `unit` bytes apart.
struct StagedRows {
  std::int64_t columns, pitch, length;
  int unit, itemsize;
  std::int64_t places = 1;  ///< positions on the reduced axes ahead of the rows
  bool has_places = false;  ///< whether there are such axes
};
/// The rows of a call with one input; none if those of neighbouring outputs are not one behind the
/// other in memory.
std::optional<StagedRows> staged_rows(const KernelCall& call);

/// Threads of a row, segments of a stage, and accesses of a thread. None where rows are too long,
/// where most threads would have none, or where aligned vectors are as fast.
struct StageShape {
  int lanes, segments, accesses;
};
std::optional<StageShape> stage_shape(const StagedRows& rows);

/// Of several reduced axes block_y warps share the outputs of one, and there are `splits` partial
/// accumulators of each output, at most `most_splits`: of `chunk` places.
struct StagedGeometry {
  unsigned grid_x, block_x, block_y;
  std::int64_t splits, chunk;
};
StagedGeometry staged_geometry(const StagedRows& rows, const StageShape& shape, std::int64_t kept,
                               std::int64_t most_splits, int multiprocessors);

}  // namespace quarry::backend::cuda
