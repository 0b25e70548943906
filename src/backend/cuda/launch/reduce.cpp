// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <quarry/kernels/reduce.hpp>

#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {
namespace {

/// Vectors are along the only reduced axis.
VectorAccess vectors_of(const Launcher& launcher) {
  if (!launcher.call.along_reduced || launcher.call.reduced_rank() != 1) return {};
  return reduce_vectors(launcher.operands);
}

/// Whether reduce_finish can store the outputs: it takes a dense array of them.
bool can_split(const KernelCall& call) {
  const bool is_dense =
      call.kept_rank == 1 && call.operands[0].strides[0] == call.program->itemsize[0];
  return is_dense || call.kept == 1;
}

void launch_finish(const Launcher& launcher, const void* partial, std::int64_t splits) {
  const KernelCall& call = launcher.call;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(call.kept, 2147483647));
  launcher.run(ReduceFinish{}, {blocks, 1, finish_threads, 1},
               parameter_block(call, false, call.reduced), partial, splits);
}

}  // namespace

void launch_reduce(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const VectorAccess vectors = vectors_of(launcher);
  const ReduceGeometry g = reduce_geometry({.kept = call.kept,
                                            .reduced = call.reduced,
                                            .span = call.span,
                                            .along_reduced = call.along_reduced,
                                            .can_split = can_split(call),
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
                       .along_reduced = call.along_reduced ? 1 : 0,
                       .width = vectors.width,
                       .wide = vectors.wide};
  launcher.run(variant, {g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y},
               parameter_block(call, true, g.chunk), partial);
  if (partial) launch_finish(launcher, partial, g.splits);
}

}  // namespace quarry::backend::cuda
