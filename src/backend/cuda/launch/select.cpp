// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {

void launch_select(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const VectorAccess vectors = select_vectors(launcher.operands, call.shape);
  const SelectGeometry g = select_geometry({.elements = call.kept,
                                            .span = call.span,
                                            .itemsize = largest_selected(launcher.operands),
                                            .vector_width = vectors.width},
                                           launcher.multiprocessors());
  const Select variant{static_cast<int>(call.rank()), g.wide_index ? 8 : 4, vectors.width,
                       vectors.wide};
  void* words = nullptr;
  if (g.words > 0) {
    const std::size_t bytes = static_cast<std::size_t>(g.words) * sizeof(std::uint64_t);
    words = launcher.workspace.take(bytes);
    launcher.clear(words, bytes);
  }
  launcher.run_early(variant, {g.blocks, 1, kernels::select_threads, 1},
                     parameter_block(call, true, call.reduced), words);
}

}  // namespace quarry::backend::cuda
