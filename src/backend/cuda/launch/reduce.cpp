// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <quarry/kernels/reduce.hpp>

#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {
namespace {

/// Outputs along the last kept axis.
std::int64_t columns_of(const KernelCall& call) {
  return call.kept_rank == 0 ? 1 : call.shape[call.kept_rank - 1];
}

VectorAccess vectors_of(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  if (call.along_reduced) {
    return row_vectors(launcher.operands, call.reduced_rank(), call.shape.back());
  }
  if (call.kept_rank == 0) return {};
  return column_vectors(launcher.operands, call.kept_rank - 1, columns_of(call));
}

}  // namespace

void launch_reduce(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const VectorAccess vectors = vectors_of(launcher);
  const ReduceGeometry g = reduce_geometry({.kept = call.kept,
                                            .reduced = call.reduced,
                                            .span = call.span,
                                            .along_reduced = call.along_reduced,
                                            .columns = columns_of(call),
                                            .vector_width = vectors.width},
                                           launcher.multiprocessors());
  const auto& loops = *static_cast<const kernels::reduce_loops*>(call.program->loops);
  void* const partial = g.splits == 1
                            ? nullptr
                            : launcher.workspace.take(static_cast<std::size_t>(g.splits) *
                                                      static_cast<std::size_t>(call.kept) *
                                                      loops.fold->accumulator_size);
  const Reduce variant{.kept_rank = static_cast<int>(call.kept_rank),
                       .reduced_rank = static_cast<int>(call.reduced_rank()),
                       .index_bytes = g.wide_index ? 8 : 4,
                       .along_reduced = vectors.is_shifted   ? 2
                                        : call.along_reduced ? 1
                                                             : 0,
                       .width = vectors.width,
                       .wide = vectors.wide};
  const ParameterBlock block = parameter_block(call, true, g.chunk);
  launcher.run(variant, {g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y}, block,
               partial);
  if (!partial) return;
  const FinishGeometry finish = finish_geometry(call.kept, g.splits);
  launcher.run(ReduceFinish{variant.kept_rank, variant.reduced_rank},
               {finish.grid_x, 1, finish.block_x, finish.block_y}, block, partial, g.splits);
}

}  // namespace quarry::backend::cuda
