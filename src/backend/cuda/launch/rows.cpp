// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/rows.hpp>

#include "backend/cuda/launch/launch.hpp"
#include "backend/cuda/launch/row_geometry.hpp"

namespace quarry::backend::cuda {

void launch_rows(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const std::size_t axis = call.along_reduced ? call.rank() - 1 : call.kept_rank - 1;
  const VectorAccess vectors =
      row_program_vectors(launcher.operands, call.kept_rank, call.along_reduced, call.shape[axis]);
  const RowGeometry g = row_geometry({.rows = call.kept,
                                      .elements = call.reduced,
                                      .span = call.span,
                                      .along_reduced = call.along_reduced,
                                      .vector_width = vectors.width,
                                      .itemsize = call.program->itemsize[0]},
                                     launcher.multiprocessors());
  const auto kept_rank = static_cast<int>(call.kept_rank);
  const int index_bytes = g.wide_index ? 8 : 4;
  const Blocks blocks{g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y};
  const ParameterBlock block = parameter_block(call, true, g.chunk);
  if (g.splits == 1) {
    const Rows whole{kept_rank,     index_bytes,  call.along_reduced,
                     vectors.width, vectors.wide, g.count};
    return launcher.run(whole, blocks, block);
  }
  RowParts parts{true, kept_rank, index_bytes, call.along_reduced, vectors.width, vectors.wide};
  const auto& loops = *static_cast<const kernels::rows_loops*>(call.program->loops);
  void* const partial =
      launcher.take(static_cast<std::size_t>(g.splits * call.kept) * loops.fold->accumulator_size);
  launcher.run(parts, blocks, block, partial);
  parts.partial = false;
  launcher.run(parts, blocks, block, partial);
}

}  // namespace quarry::backend::cuda
