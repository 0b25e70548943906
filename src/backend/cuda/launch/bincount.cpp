// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {

void launch_bincount(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const VectorAccess vectors = aligned_vectors(launcher.operands);
  const std::uint64_t bins = call.scalars[call.program->scalars - 1].word[0];
  const BincountGeometry g = bincount_geometry({.elements = call.reduced,
                                                .bins = static_cast<std::int64_t>(bins),
                                                .vector_width = vectors.width},
                                               launcher.multiprocessors());
  launcher.run(Bincount{.is_private = g.is_private, .width = vectors.width, .wide = vectors.wide},
               {g.blocks, 1, bincount_threads, 1}, parameter_block(call, true, g.chunk));
}

}  // namespace quarry::backend::cuda
