// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/reduce_staged.hpp"

#include <quarry/kernels/params.hpp>

#include <algorithm>
#include <limits>

#include "backend/cuda/launch/grid.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t warp = 32, warps = 8, vector = 16;  // threads, of a block, bytes
constexpr int resident = 4;  // blocks of a multiprocessor: the kernel's launch bounds
/// What a block takes besides its stages, and a kernel behind few splits, in the time of a stage.
constexpr std::int64_t of_block = 1, of_second_kernel = 2;

std::int64_t row_bytes(const StagedRows& rows) {
  return (rows.length - 1) * rows.unit + rows.itemsize;
}

/// Of a warp.
std::int64_t outputs_of(const StagedRows& rows, const StageShape& shape) {
  return warp / shape.lanes * (rows.has_places ? 1 : shape.segments);
}

}  // namespace

std::optional<StageShape> stage_shape(const StagedRows& rows) {
  constexpr std::int64_t most_accesses = 4, most_lanes = 8;
  constexpr std::int64_t stage = kernels::stage_vectors * vector;
  const std::int64_t accesses = divide_up(rows.length, vector / rows.unit);
  StageShape shape{1, 1, 0};
  const auto bytes = [&] {  // of a segment, wherever it begins
    return (warp / shape.lanes - 1) * rows.pitch + row_bytes(rows) + vector - 1;
  };
  while (shape.lanes <= most_lanes && (bytes() > stage || accesses > most_accesses * shape.lanes)) {
    shape.lanes *= 2;
  }
  if (shape.lanes > most_lanes) return std::nullopt;
  shape.accesses = static_cast<int>(divide_up(accesses, shape.lanes));
  const std::int64_t most = rows.has_places ? rows.places : rows.columns * shape.lanes / warp;
  while (shape.segments < 4 && 2 * shape.segments <= most &&
         2 * shape.segments * bytes() <= stage) {
    shape.segments *= 2;
  }
  const std::int64_t outputs = outputs_of(rows, shape);
  const bool are_enough = 4 * rows.columns >= 3 * divide_up(rows.columns, outputs) * outputs;
  // of rows that begin in few banks of the shared memory threads would wait for each other
  const bool is_slow = rows.pitch % (shape.lanes == 1 ? 16 : 32) == 0;
  return are_enough && !is_slow ? std::optional(shape) : std::nullopt;
}

StagedGeometry staged_geometry(const StagedRows& rows, const StageShape& shape, std::int64_t kept,
                               std::int64_t most_splits, int multiprocessors) {
  const std::int64_t items = kept / rows.columns * divide_up(rows.columns, outputs_of(rows, shape));
  const std::int64_t busy = std::int64_t{resident} * multiprocessors;
  if (!rows.has_places) {
    const std::int64_t blocks = std::min(divide_up(items, warps), busy);
    return {static_cast<unsigned>(blocks), warps * warp, 1, 1, items};
  }
  const std::int64_t stages = divide_up(rows.places, shape.segments);
  std::int64_t share = 1, splits = 1, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t y = 1; y <= std::min(stages, warps); y *= 2) {
    constexpr std::int64_t few = 16;  // splits
    const std::int64_t most = std::min(stages / y, most_splits);
    const std::int64_t blocks = divide_up(items, warps / y);
    const auto consider = [&](std::int64_t s) {
      const std::int64_t waves = divide_up(blocks * s, busy);
      const std::int64_t combining = s > 1 ? of_second_kernel + (s - 1) / few : 0;
      const std::int64_t time = waves * (divide_up(stages, y * s) + of_block) + combining;
      if (time < least) share = y, splits = s, least = time;
    };
    for (std::int64_t s = 1; s == 1 || s <= std::min(most, few); ++s) consider(s);
    const std::int64_t at_once = std::min(most, busy / blocks);  // of few outputs
    if (at_once > few) consider(at_once);
  }
  const std::int64_t chunk = divide_up(stages, splits) * shape.segments;
  return {.grid_x = static_cast<unsigned>(divide_up(items, warps / share)),
          .block_x = static_cast<unsigned>(warp * warps / share),
          .block_y = static_cast<unsigned>(share),
          .splits = divide_up(rows.places, chunk),
          .chunk = chunk};
}

std::optional<StagedRows> staged_rows(const KernelCall& call) {
  if (!call.along_reduced || call.operands.size() != 2 || call.kept_rank == 0) return std::nullopt;
  const auto itemsize = static_cast<int>(call.program->itemsize[1]);
  const Strides& strides = call.operands[1].strides;
  const std::int64_t unit = strides.back();
  if (call.program->is_side(1) || itemsize > 8) return std::nullopt;
  if (unit != itemsize && unit != 2 * itemsize) return std::nullopt;
  const StagedRows rows{.columns = call.shape[call.kept_rank - 1],
                        .pitch = strides[call.kept_rank - 1],
                        .length = call.shape.back(),
                        .unit = static_cast<int>(unit),
                        .itemsize = itemsize,
                        .places = call.reduced / call.shape.back(),
                        .has_places = call.reduced_rank() > 1};
  const std::int64_t bytes = row_bytes(rows);
  if (rows.pitch < bytes || 4 * rows.pitch > 5 * bytes + 4 * unit) return std::nullopt;
  return rows;
}

}  // namespace quarry::backend::cuda
