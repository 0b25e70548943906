// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/reduce.hpp>

#include <algorithm>
#include <optional>

#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {
namespace {

/// Outputs along the last kept axis.
std::int64_t columns_of(const KernelCall& call) {
  return call.kept_rank == 0 ? 1 : call.shape[call.kept_rank - 1];
}

VectorAccess vectors_of(const KernelCall& call) {
  const CallOperands operands(call);
  if (call.along_reduced) return row_vectors(operands, call.reduced_rank(), call.shape.back());
  if (call.kept_rank == 0) return {};
  return column_vectors(operands, call.kept_rank - 1, columns_of(call));
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

/// The kept axis along which the output's neighbours are.
std::size_t output_axis(const KernelCall& call) {
  std::size_t nearest = call.kept_rank - 1;
  for (std::size_t axis = 0; axis < call.kept_rank; ++axis) {
    const auto stride = [&](std::size_t d) { return std::abs(call.operands[0].strides[d]); };
    if (stride(axis) < stride(nearest)) nearest = axis;
  }
  return nearest;
}

/// The same call with that axis as the last kept one but one, where rows of the inputs are columns
/// of the output: both are accessed by tiles. None if that is so for no axis, if what is written is
/// a small part, or if there are too few outputs for a thread each.
std::optional<KernelCall> in_tiles(const KernelCall& call, int multiprocessors) {
  constexpr std::int64_t small_part = 16, threads = 1024, outputs = 4;  // of a thread
  if (call.along_reduced || call.kept_rank < 2 || call.operands.size() < 2) return std::nullopt;
  const std::uint32_t* const size = call.program->itemsize;
  if (call.reduced * size[1] >= small_part * size[0]) return std::nullopt;
  if (call.kept < threads * outputs * multiprocessors) return std::nullopt;
  const std::size_t axis = output_axis(call);
  if (axis == call.kept_rank - 1) return std::nullopt;
  KernelCall tiled = call;
  const auto last_but_one = [&](auto& values) {
    std::rotate(values.begin() + axis, values.begin() + axis + 1,
                values.begin() + call.kept_rank - 1);
  };
  last_but_one(tiled.shape);
  for (Operand& operand : tiled.operands) last_but_one(operand.strides);
  return tiled;
}

}  // namespace

void launch_reduce(const Launcher& launcher) {
  const std::optional<KernelCall> tiled = in_tiles(launcher.call, launcher.multiprocessors());
  const KernelCall& call = tiled ? *tiled : launcher.call;
  const auto& loops = *static_cast<const kernels::reduce_loops*>(call.program->loops);
  const std::size_t accumulator_size = loops.fold->accumulator_size;
  const std::optional<KernelCall> merged =
      tiled ? std::nullopt : along_inputs(call, accumulator_size);
  const KernelCall& walked = merged ? *merged : call;
  const VectorAccess vectors = vectors_of(walked);
  const ReduceGeometry g = reduce_geometry({.kept = call.kept,
                                            .reduced = call.reduced,
                                            .span = call.span,
                                            .along_reduced = call.along_reduced,
                                            .columns = columns_of(walked),
                                            .vector_width = vectors.width,
                                            .in_tiles = tiled.has_value()},
                                           launcher.multiprocessors());
  const bool is_partial = merged || g.splits > 1;
  void* const partial =
      is_partial ? launcher.workspace.take(static_cast<std::size_t>(g.splits) *
                                           static_cast<std::size_t>(call.kept) * accumulator_size)
                 : nullptr;
  launcher.run(
      Reduce{.kept_rank = static_cast<int>(walked.kept_rank),
             .reduced_rank = static_cast<int>(walked.reduced_rank()),
             .index_bytes = g.wide_index ? 8 : 4,
             .along_reduced = along_argument(call.along_reduced, vectors.places, tiled.has_value()),
             .width = vectors.width,
             .wide = vectors.wide},
      {g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y},
      parameter_block(walked, true, g.chunk), partial);
  if (!is_partial) return;
  const FinishGeometry finish = finish_geometry(call.kept, g.splits);
  launcher.run(
      ReduceFinish{static_cast<int>(call.kept_rank), static_cast<int>(call.reduced_rank())},
      {finish.grid_x, 1, finish.block_x, finish.block_y}, parameter_block(call, true, g.chunk),
      partial, g.splits);
}

}  // namespace quarry::backend::cuda
