// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/reduce.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {
namespace {

/// Vectors along the last kept axis, if there are some, else pieces of the reduced ones.
VectorAccess vectors_of(const KernelCall& call, ReduceOrder& order) {
  const CallOperands operands(call);
  if (order.along_reduced) return row_vectors(operands, call.reduced_rank(), call.shape.back());
  if (call.kept_rank == 0) return {};
  const VectorAccess columns =
      column_vectors(operands, call.kept_rank - 1, call.shape[call.kept_rank - 1]);
  if (columns.width > 1 || order.tile_axis) return columns;
  const VectorAccess pieces = piece_vectors(operands, call.shape.back());
  order.pieces = pieces.width > 1;
  return order.pieces ? pieces : columns;
}

/// Whether all inputs run through the kept axes `axis` and the next one as through one axis.
bool inputs_merge(const KernelCall& call, std::size_t axis) {
  for (std::size_t k = 1; k < call.operands.size(); ++k) {
    const Strides& strides = call.operands[k].strides;
    if (strides[axis] != strides[axis + 1] * call.shape[axis + 1]) return false;
  }
  return true;
}

void merge_with_next(KernelCall& call, std::size_t axis) {
  const auto erase = [=](auto& values) {
    for (std::size_t d = axis; d + 1 < values.size(); ++d) values[d] = values[d + 1];
    values.truncate(values.size() - 1);
  };
  call.shape[axis + 1] *= call.shape[axis];
  erase(call.shape);
  for (Operand& operand : call.operands) erase(operand.strides);
  --call.kept_rank;
}

/// The same call where the kept axes are those of the inputs, which its output cannot be walked
/// with: its accumulators go to `partial`. None if it has no fewer axes, or if the accumulators
/// are no small part of what is read.
std::optional<KernelCall> along_inputs(const KernelCall& call, std::size_t accumulator_size) {
  constexpr std::int64_t small_part = 16;
  if (call.kept_rank < 2 || call.operands.size() < 2) return std::nullopt;
  const auto size = static_cast<std::int64_t>(accumulator_size);
  if (call.reduced * call.program->itemsize[1] < small_part * size) return std::nullopt;
  std::optional<KernelCall> merged;
  for (std::size_t axis = call.kept_rank - 1; axis-- > 0;) {
    if (!inputs_merge(merged ? *merged : call, axis)) continue;
    if (!merged) merged.emplace(call);
    merge_with_next(*merged, axis);
  }
  if (merged) std::fill_n(merged->operands[0].strides.begin(), merged->kept_rank, 0);
  return merged;
}

/// The kept axis along which the output's neighbours are, if the inputs' are along those behind it:
/// both are accessed by tiles. None if what is written is a small part, or if there are too few
/// outputs for a thread each.
std::optional<std::size_t> tile_axis(const KernelCall& call, int multiprocessors) {
  constexpr std::int64_t small_part = 16, sector = 32, threads = 1024, outputs = 4;  // of a thread
  if (call.kept_rank < 2 || call.operands.size() < 2) return std::nullopt;
  const std::uint32_t* const size = call.program->itemsize;
  const std::int64_t most = call.along_reduced ? sector : small_part * size[0] - 1;
  if (call.reduced * size[1] > most) return std::nullopt;
  if (call.kept < threads * outputs * multiprocessors) return std::nullopt;
  const Strides& strides = call.operands[0].strides;
  std::size_t nearest = 0;
  for (std::size_t axis = 1; axis < call.kept_rank; ++axis) {
    if (std::abs(strides[axis]) < std::abs(strides[nearest])) nearest = axis;
  }
  return nearest < call.kept_rank - 1 ? std::optional(nearest) : std::nullopt;
}

/// Outputs of a row: along the last kept axis, or along those behind that of tiles.
std::int64_t columns_of(const KernelCall& call, std::optional<std::size_t> tiles) {
  if (call.kept_rank == 0) return 1;
  std::int64_t columns = 1;
  for (std::size_t axis = tiles ? *tiles + 1 : call.kept_rank - 1; axis < call.kept_rank; ++axis) {
    columns *= call.shape[axis];
  }
  return columns;
}

/// So many partial results move a twentieth of what is read.
std::int64_t most_splits(const KernelCall& call, std::size_t accumulator_size) {
  if (call.operands.size() < 2) return 1;
  return call.reduced * call.program->itemsize[1] /
         static_cast<std::int64_t>(40 * accumulator_size);
}

}  // namespace

void launch_reduce(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const auto& loops = *static_cast<const kernels::reduce_loops*>(call.program->loops);
  const std::size_t accumulator_size = loops.fold->accumulator_size;
  const std::optional<std::size_t> tiles = tile_axis(call, launcher.multiprocessors());
  const std::optional<KernelCall> merged =
      tiles ? std::nullopt : along_inputs(call, accumulator_size);
  const KernelCall& walked = merged ? *merged : call;
  ReduceOrder order{.along_reduced = call.along_reduced && !tiles, .tile_axis = tiles};
  const VectorAccess vectors = vectors_of(walked, order);
  const ReduceGeometry g = reduce_geometry({.kept = call.kept,
                                            .reduced = call.reduced,
                                            .span = call.span,
                                            .along_reduced = order.along_reduced,
                                            .columns = columns_of(walked, tiles),
                                            .vector_width = vectors.width,
                                            .in_tiles = tiles.has_value(),
                                            .in_pieces = order.pieces,
                                            .most_splits = most_splits(call, accumulator_size)},
                                           launcher.multiprocessors());
  const bool is_partial = merged || g.splits > 1;
  void* const partial =
      is_partial ? launcher.workspace.take(static_cast<std::size_t>(g.splits) *
                                           static_cast<std::size_t>(call.kept) * accumulator_size)
                 : nullptr;
  launcher.run_early(Reduce{.kept_rank = static_cast<int>(walked.kept_rank),
                            .reduced_rank = static_cast<int>(walked.reduced_rank()),
                            .index_bytes = g.wide_index ? 8 : 4,
                            .along_reduced = along_argument(order, vectors.places),
                            .width = vectors.width,
                            .wide = vectors.wide},
                     {g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y},
                     parameter_block(walked, true, g.chunk), partial);
  if (!is_partial) return;
  const FinishGeometry finish = finish_geometry(call.kept, g.splits);
  launcher.run_early(
      ReduceFinish{static_cast<int>(call.kept_rank), static_cast<int>(call.reduced_rank())},
      {finish.grid_x, 1, finish.block_x, finish.block_y}, parameter_block(call, true, g.chunk),
      partial, g.splits);
}

}  // namespace quarry::backend::cuda
