// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/reduce_slabs.hpp"

#include <algorithm>

#include "backend/cuda/launch/grid.hpp"

namespace quarry::backend::cuda {
namespace {

/// Whether what is `bytes` long has most of the bytes from one to the next.
bool fills(std::int64_t bytes, std::int64_t pitch) {
  return pitch >= bytes && 4 * pitch <= 5 * bytes;
}

}  // namespace

std::optional<Slabs> slabs_of(const KernelCall& call) {
  if (call.operands.size() != 2 || call.program->is_side(1)) return std::nullopt;
  if (call.reduced_rank() != 1 || call.kept_rank < 2) return std::nullopt;
  const Strides& strides = call.operands[1].strides;
  const std::size_t row = call.kept_rank - 1;
  const std::int64_t columns = call.shape[row], count = call.shape[row - 1];
  const Slabs slabs{.lines = call.kept / columns / count,
                    .count = count,
                    .rows = call.reduced,
                    .columns = columns,
                    .slab_pitch = strides[row - 1],
                    .row_pitch = strides.back(),
                    .unit = strides[row],
                    .itemsize = call.program->itemsize[1]};
  if (slabs.unit != slabs.itemsize && slabs.unit != 2 * slabs.itemsize) return std::nullopt;
  const bool are_dense = fills(slabs.columns * slabs.unit, slabs.row_pitch) &&
                         fills(slabs.rows * slabs.row_pitch, slabs.slab_pitch);
  return are_dense ? std::optional(slabs) : std::nullopt;
}

std::optional<SlabStages> slab_stages(const Slabs& slabs, int multiprocessors) {
  constexpr std::int64_t around = 15;  // bytes of the vectors that have the first and last element
  constexpr std::int64_t few = 16, threads = kernels::slab_threads;  // few rows of a thread
  const std::int64_t room = kernels::slab_stage_bytes - around - slabs.bytes();
  if (room < 0 || slabs.columns > threads || slabs.rows < few) return std::nullopt;
  const std::int64_t most =
      std::min({room / slabs.slab_pitch + 1, threads / slabs.columns, slabs.count});
  // as many stages for each of the blocks that run at once
  const std::int64_t all = slabs.count * slabs.lines,
                     at_once = std::int64_t{kernels::slab_blocks} * multiprocessors;
  const std::int64_t rounds = divide_up(divide_up(slabs.count, most) * slabs.lines, at_once);
  const std::int64_t count = std::min(most, divide_up(all, rounds * at_once));
  const std::int64_t lanes =
      std::clamp<std::int64_t>(threads / (count * slabs.columns), 1, slabs.rows / few);
  if (2 * count * slabs.columns * lanes < threads) return std::nullopt;
  const auto word = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  const std::int64_t stages = divide_up(slabs.count, count) * slabs.lines;
  return SlabStages{.of = {.columns = kernels::divisor::by(word(slabs.columns)),
                           .lanes = kernels::divisor::by(word(lanes)),
                           .slabs = word(count),
                           .slab_pitch = word(slabs.slab_pitch),
                           .slab_bytes = word(slabs.bytes()),
                           .row_pitch = word(slabs.row_pitch),
                           .unit = word(slabs.unit)},
                    .stages = stages,
                    .blocks = std::min(stages, at_once)};
}

}  // namespace quarry::backend::cuda
