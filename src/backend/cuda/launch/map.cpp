// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {
namespace {

void launch_flat(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const int width = vector_width(launcher.operands), backwards = launcher.backwards();
  launcher.run(FlatMap{width}, {flat_grid(call.kept, width), 1, flat_threads, 1},
               parameter_block(call, false, call.reduced), backwards);
}

void launch_strided(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const std::int64_t columns = call.shape.back();
  const VectorAccess vectors = map_vectors(launcher.operands, columns);
  const StridedGeometry g = strided_geometry({.columns = columns,
                                              .rows = call.kept / columns,
                                              .span = call.span,
                                              .lead = lead_of(launcher.operands, columns),
                                              .operands = call.program->operands() - 1,
                                              .vector_width = vectors.width},
                                             launcher.multiprocessors());
  const StridedMap variant{.rank = static_cast<int>(call.rank()),
                           .index_bytes = g.wide_index ? 8 : 4,
                           .rows = g.rows_a_thread,
                           .width = vectors.width,
                           .wide = vectors.wide};
  const int backwards = launcher.backwards();
  launcher.run(variant, {g.grid_x, g.grid_y, g.block_x, g.block_y},
               parameter_block(call, true, call.reduced), backwards);
}

}  // namespace

void launch_map(const Launcher& launcher) {
  if (launcher.call.is_flat()) {
    launch_flat(launcher);
  } else {
    launch_strided(launcher);
  }
}

}  // namespace quarry::backend::cuda
