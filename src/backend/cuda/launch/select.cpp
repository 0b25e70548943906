// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/launch.hpp"

namespace quarry::backend::cuda {
namespace {

/// The bytes of a row, where a mask selects rows of what is copied, and these are dense and not
/// long; else 0.
std::int64_t selected_row_bytes(const Launcher& launcher) {
  constexpr std::size_t mask = 2, rows = 3;
  const KernelCall& call = launcher.call;
  if (!call.program->copies || call.rank() != 2) return 0;
  const bool are_rows = launcher.operands.last_stride(mask) == 0 &&
                        launcher.operands.has_dense_rows(rows, call.shape[1]);
  const std::int64_t bytes = call.shape[1] * call.program->itemsize[rows];
  return are_rows && bytes <= kernels::select_row_bytes ? bytes : 0;
}

/// The size of elements that are packed; 0 for others.
std::uint32_t packed_size(const Launcher& launcher) {
  constexpr std::uint32_t most = 2;
  const std::uint32_t size = launcher.call.program->itemsize[1];
  return launcher.call.program->copies && launcher.call.rank() == 1 && size <= most ? size : 0;
}

}  // namespace

void launch_select(const Launcher& launcher) {
  using kernels::select_pass;
  const KernelCall& call = launcher.call;
  const std::int64_t row_bytes = selected_row_bytes(launcher);
  const bool rows = row_bytes > 0;
  const VectorAccess vectors =
      rows ? VectorAccess{} : select_vectors(launcher.operands, call.shape);
  const SelectGeometry g = select_geometry({.elements = rows ? call.shape[0] : call.kept,
                                            .span = call.span,
                                            .vector_width = vectors.width,
                                            .row_bytes = row_bytes,
                                            .packed_size = packed_size(launcher)},
                                           launcher.multiprocessors());
  const Select variant{static_cast<int>(call.rank()), g.wide_index ? 8 : 4, vectors.width,
                       vectors.wide};
  kernels::select_marks marks{nullptr, nullptr, g.words_of_warp, select_pass::both, rows};
  const auto run = [&](select_pass pass) {
    marks.pass = pass;
    launcher.run_early(variant, {g.blocks, 1, kernels::select_threads, 1},
                       parameter_block(call, true, call.reduced), marks);
  };
  if (g.blocks == 1) return run(select_pass::both);
  const std::size_t counts = g.blocks * sizeof *marks.counts;
  void* const memory =
      launcher.take(counts + static_cast<std::size_t>(g.words()) * sizeof *marks.bits);
  marks.counts = static_cast<kernels::i64*>(memory);
  marks.bits = reinterpret_cast<kernels::u32*>(marks.counts + g.blocks);
  run(select_pass::first);
  run(select_pass::second);
}

}  // namespace quarry::backend::cuda
