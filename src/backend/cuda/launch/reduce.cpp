// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/access.hpp>
#include <quarry/kernels/reduce.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

#include "backend/cuda/launch/grid.hpp"
#include "backend/cuda/launch/launch.hpp"
#include "backend/cuda/launch/reduce_axes.hpp"
#include "backend/cuda/launch/reduce_slabs.hpp"
#include "backend/cuda/launch/reduce_staged.hpp"
#include "backend/cuda/launch/reduce_vectors.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::uint32_t sector = 32;  // bytes

/// The kept axis along which the output's neighbours are, if the inputs' are along those behind it:
/// both are accessed by tiles. None if what is written is a small part, or if there are too few
/// outputs for a thread each.
std::optional<std::size_t> tile_axis(const KernelCall& call, int multiprocessors) {
  constexpr std::int64_t small_part = 16, threads = 1024, outputs = 4;  // of a thread
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
std::int64_t most_splits(const KernelCall& call) {
  if (call.operands.size() < 2) return 1;
  return call.reduced * call.program->itemsize[1] /
         (40 * std::int64_t{loops_of(call).kernel_accumulator});
}

ReduceShape shape_of(const KernelCall& call, const ReduceOrder& order,
                     const VectorAccess& vectors) {
  const bool is_ragged = vectors.places == VectorPlaces::ragged;
  const std::int64_t row = columns_of(call, order.tile_axis);
  std::int64_t kept = call.kept, columns = row;
  if (vectors.places == VectorPlaces::unaligned) {  // outputs of two vectors count twice
    columns = divide_up(row, vectors.width) * vectors.width;
    kept = kept / row * columns;
  }
  return {.kept = kept,
          .reduced = is_ragged ? places_in_vectors(call, vectors.width) : call.reduced,
          .span = call.span,
          .along_reduced = order.along_reduced,
          .columns = columns,
          .vector_width = vectors.width,
          .in_tiles = order.tile_axis.has_value(),
          .in_pieces = order.pieces,
          .most_splits = most_splits(call),
          .vector_bytes = static_cast<std::int64_t>(
              std::bit_floor(std::max<std::uint64_t>(bytes_of(call, vectors), 1))),
          .accumulator_bytes = loops_of(call).kernel_accumulator};
}

Reduce variant_of(const KernelCall& call, const ReduceOrder& order, const VectorAccess& vectors,
                  bool wide_index) {
  return {.kept_rank = static_cast<int>(call.kept_rank),
          .reduced_rank = static_cast<int>(call.reduced_rank()),
          .index_bytes = wide_index ? 8 : 4,
          .along_reduced = along_argument(order, vectors.places),
          .width = vectors.width,
          .wide = vectors.wide};
}

void launch_few(const Launcher& launcher, const ReduceOrder& order, const VectorAccess& vectors) {
  const KernelCall& call = launcher.call;
  const int groups = order.tile_axis
                         ? 1
                         : kernels::few_groups(static_cast<std::uint64_t>(order.accesses) *
                                               bytes_of(call, vectors));
  const FewGeometry g = few_geometry(shape_of(call, order, vectors), groups);
  const ReduceFew variant{variant_of(call, order, vectors, g.wide_index), order.accesses};
  launcher.run_ahead(launcher.find(variant), {g.grid_x, 1, g.block_x, g.block_y},
                     parameter_block(call, true, call.reduced), 0);
}

/// Memory for `splits` partial accumulators of every output, of the CPU's size, which is enough.
void* take_partial(const Launcher& launcher, std::int64_t splits) {
  const auto accumulators = static_cast<std::size_t>(splits * launcher.call.kept);
  return launcher.take(accumulators * loops_of(launcher.call).fold->accumulator_size);
}

/// What combines the partial accumulators of every output, `splits` of each.
void launch_finish(const Launcher& launcher, std::int64_t splits, const ParameterBlock& block,
                   void* partial) {
  const KernelCall& call = launcher.call;
  const FinishGeometry finish = finish_geometry(call.kept, splits);
  launcher.run_early(
      ReduceFinish{static_cast<int>(call.kept_rank), static_cast<int>(call.reduced_rank())},
      {finish.grid_x, 1, finish.block_x, finish.block_y}, block, partial, splits);
}

/// Whether short rows that begin at any element have been reduced. Fewer bytes than `enough` are
/// not worth a kernel for each shape of rows.
bool launch_staged(const Launcher& launcher) {
  constexpr std::int64_t enough = 1 << 22;
  const KernelCall& call = launcher.call;
  const kernels::reduce_loops& loops = loops_of(call);
  if (loops.have_positions || (loops.finds_positions && call.reduced_rank() > 1)) return false;
  const std::optional<StagedRows> rows = staged_rows(call);
  if (!rows || call.kept * call.reduced * rows->itemsize < enough) return false;
  const std::optional<StageShape> shape = stage_shape(*rows);
  if (!shape) return false;
  // places of halves are found one by one, and by the few elements of a thread as slowly
  constexpr int most_lanes = 2;
  if (loops.finds_positions && rows->itemsize == 2 && shape->lanes > most_lanes) return false;
  const StagedGeometry g =
      staged_geometry(*rows, *shape, call.kept, most_splits(call), launcher.multiprocessors());
  const bool wide_index = needs_wide_index(call.span, std::max(call.kept, call.reduced));
  constexpr int dense = 1, every_second = 1 | 1 << kernels::input_access::other_step;
  const ReduceStaged variant{.kept_rank = static_cast<int>(call.kept_rank),
                             .reduced_rank = static_cast<int>(call.reduced_rank()),
                             .index_bytes = wide_index ? 8 : 4,
                             .wide = rows->unit == rows->itemsize ? dense : every_second,
                             .lanes = shape->lanes,
                             .segments = shape->segments,
                             .accesses = shape->accesses};
  void* const partial = g.splits > 1 ? take_partial(launcher, g.splits) : nullptr;
  const ParameterBlock block = parameter_block(call, true, g.chunk);
  const Blocks blocks{g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y};
  launcher.run_ahead(launcher.find(variant), blocks, block, 0, partial);
  if (partial) launch_finish(launcher, g.splits, block, partial);
  return true;
}

/// Whether short rows of outputs that are hardly vectors have been reduced. Moments of floats, and
/// places of extremes but for those of every second word, are faster by several columns at once.
bool launch_slabs(const Launcher& launcher) {
  constexpr std::int64_t enough = 1 << 22;
  constexpr std::uint64_t wide_enough = 8;
  const KernelCall& call = launcher.call;
  const kernels::reduce_loops& loops = loops_of(call);
  const std::optional<Slabs> slabs = loops.have_positions ? std::nullopt : slabs_of(call);
  if (!slabs || call.kept * call.reduced * slabs->itemsize < enough) return false;
  const bool are_sums = loops.kernel_accumulator <= light_accumulator || has_exact_moments(call),
             are_places = loops.finds_positions && slabs->unit > slabs->itemsize;
  if (!(are_sums ? slabs->itemsize <= 4 : are_places && slabs->itemsize == 4)) return false;
  ReduceOrder order{.along_reduced = false};
  const VectorAccess vectors = vectors_of(call, order, columns_of_thread(call, false));
  if (!order.pieces && bytes_of(call, vectors) >= wide_enough) return false;
  const std::optional<SlabStages> stages = slab_stages(*slabs, launcher.multiprocessors());
  if (!stages) return false;
  const bool wide_index = needs_wide_index(call.span, std::max(call.kept, call.reduced));
  const ReduceSlabs variant{static_cast<int>(call.kept_rank), wide_index ? 8 : 4};
  const ParameterBlock block = parameter_block(call, true, stages->stages);
  const Blocks blocks{static_cast<unsigned>(stages->blocks), 1, kernels::slab_threads, 1};
  launcher.run_ahead(launcher.find(variant), blocks, block, 0, stages->of);
  return true;
}

}  // namespace

void launch_reduce(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const kernels::reduce_loops& loops = loops_of(call);
  const std::optional<std::size_t> tiles = tile_axis(call, launcher.multiprocessors());
  ReduceOrder order{.along_reduced = call.along_reduced && !tiles, .tile_axis = tiles};
  if (const auto few = vectors_of_few(call, order, launcher.multiprocessors())) {
    return launch_few(launcher, order, *few);
  }
  if (!tiles && (launch_staged(launcher) || launch_slabs(launcher))) return;
  std::optional<ColumnWalk> inner =
      tiles ? std::nullopt : inner_walk(call, order, launcher.multiprocessors());
  if (inner) order.along_reduced = false;
  const std::optional<KernelCall> merged = tiles || inner ? std::nullopt : along_inputs(call);
  const KernelCall& unfolded = merged ? *merged : call;
  const bool has_columns = !tiles && !order.along_reduced && call.kept_rank > 0;
  const ColumnWalk columns = inner         ? std::move(*inner)
                             : has_columns ? column_walk(unfolded, launcher.multiprocessors())
                                           : ColumnWalk{.most = columns_of_thread(call, false)};
  const std::optional<KernelCall>& folds = columns.folds;
  order.folded = folds.has_value(), order.unaligned = columns.unaligned;
  const KernelCall& walked = folds ? *folds : unfolded;
  const VectorAccess vectors = vectors_of(walked, order, columns.most);
  ReduceShape shape = shape_of(walked, order, vectors);
  ReduceGeometry g = reduce_geometry(shape, launcher.multiprocessors());
  Reduce variant = variant_of(walked, order, vectors, g.wide_index);
  const auto finishes = [&] {
    const std::size_t bytes = static_cast<std::size_t>(call.kept) * loops.kernel_accumulator;
    return g.splits > 1 && !merged && !folds && !tiles &&
           can_finish(g, finish_geometry(call.kept, g.splits), bytes);
  };
  std::uint32_t* arrived = finishes() ? launcher.workspace.counter() : nullptr;
  variant.finishes = arrived != nullptr;
  const Kernel* kernel = &launcher.find(variant);
  if (g.splits > 1 || g.has_choice) {
    const auto accesses = static_cast<std::uint64_t>(walked.kept * walked.reduced) /
                          static_cast<std::uint64_t>(vectors.width);
    shape.resident =
        resident_blocks(shape, g.runs_at_once, kernel->resident_blocks,
                        accesses * bytes_of(walked, vectors), launcher.multiprocessors());
    g = reduce_geometry(shape, launcher.multiprocessors());
    if (arrived && !finishes()) {  // too many splits for the last block
      arrived = nullptr, variant.finishes = false;
      kernel = &launcher.find(variant);
    }
  }
  const bool is_partial = merged || folds || g.splits > 1;
  const std::int64_t splits =
      g.splits * partials_of_split(walked.kept / call.kept, shape.columns / vectors.width);
  void* const partial = is_partial ? take_partial(launcher, splits) : nullptr;
  const Blocks blocks{g.grid_x, static_cast<unsigned>(g.splits), g.block_x, g.block_y};
  const ParameterBlock block = parameter_block(walked, true, g.chunk);
  if (arrived) {
    const auto lanes = static_cast<int>(finish_geometry(call.kept, splits).block_y);
    return launcher.run_ahead(*kernel, blocks, block, 0, partial, arrived, lanes);
  }
  launcher.run_ahead(*kernel, blocks, block, 0, partial);
  if (!is_partial) return;
  launch_finish(launcher, splits, parameter_block(call, true, g.chunk), partial);
}

}  // namespace quarry::backend::cuda
