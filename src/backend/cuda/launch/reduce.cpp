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
#include "backend/cuda/launch/reduce_staged.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::uint32_t sector = 32;  // bytes

const kernels::reduce_loops& loops_of(const KernelCall& call) {
  return *static_cast<const kernels::reduce_loops*>(call.program->loops);
}

/// Whether the places of extremes are found in several columns at once: those of elements of one or
/// two bytes (kernels/reduce_columns.cuh).
bool finds_in_columns(const KernelCall& call) {
  return loops_of(call).finds_positions && call.operands.size() == 2 &&
         call.program->itemsize[1] <= 2;
}

/// Vectors of up to `most` elements along the last kept axis. Where aligned ones are narrow they
/// may begin at any element, four of them if accumulators are not light.
VectorAccess column_vectors_of(const KernelCall& call, const ReduceOrder& order, int most) {
  const CallOperands operands(call);
  const std::size_t axis = call.kept_rank - 1;
  const VectorAccess aligned = column_vectors(operands, axis, call.shape[axis], true, most);
  if (!order.unaligned) return aligned;
  const bool are_light = loops_of(call).fold->accumulator_size <= light_accumulator;
  const bool are_bytes = finds_in_columns(call) && operands.itemsizes[1] == 1;
  if (!are_light && !are_bytes) most = std::min(most, 4);
  const VectorAccess unaligned =
      unaligned_column_vectors(operands, axis, call.shape[axis], aligned.width, most);
  return unaligned.width > aligned.width ? unaligned : aligned;
}

/// Vectors of up to `most` elements along the last kept axis, if there are some, else
/// pieces of the reduced ones.
VectorAccess vectors_of(const KernelCall& call, ReduceOrder& order, int most) {
  constexpr std::uint32_t wide_enough = 8, widest = 16;  // bytes
  const CallOperands operands(call);
  const bool have_positions = loops_of(call).have_positions;
  const auto bytes_of_one = [&](const VectorAccess& vectors) {
    return static_cast<std::uint32_t>(vectors.width) * operands.itemsizes[1];
  };
  const auto is_wide_enough = [&](const VectorAccess& vectors) {
    return bytes_of_one(vectors) >= wide_enough;
  };
  if (order.along_reduced) {
    const VectorAccess rows = row_vectors(operands, call.reduced_rank(), call.shape.back());
    if (call.reduced_rank() == 1 || have_positions || operands.all.size() < 2) return rows;
    if (loops_of(call).finds_positions && bytes_of_one(rows) < widest && is_run(call)) {
      const VectorAccess run = run_vectors(operands, call.reduced);
      if (is_wide_enough(run)) return run;
    }
    if (is_wide_enough(rows)) return rows;
    const VectorAccess ragged = ragged_vectors(operands, call.shape.back());
    return ragged.width > rows.width ? ragged : rows;
  }
  if (call.kept_rank == 0) return {};
  const VectorAccess columns = column_vectors_of(call, order, most);
  if (columns.width > 1 || order.tile_axis || operands.all.size() < 2) return columns;
  VectorAccess pieces = piece_vectors(operands, call.shape.back());
  if (!is_wide_enough(pieces)) {
    const VectorAccess whole = whole_pieces(operands, call.shape.back());
    if (whole.width > pieces.width) pieces = whole;
  }
  order.pieces = pieces.width > 1;
  return order.pieces ? pieces : columns;
}

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

/// Bytes that one access of all inputs reads.
std::uint64_t bytes_of(const KernelCall& call, const VectorAccess& vectors) {
  std::uint64_t bytes = 0;
  for (std::size_t k = 1; k < call.operands.size(); ++k) {
    const auto access =
        kernels::input_access::of(static_cast<unsigned>(vectors.wide), static_cast<int>(k) - 1);
    const int elements = !access.is_wide ? 1 : access.has_gaps ? 2 * vectors.width : vectors.width;
    bytes += static_cast<std::uint64_t>(elements) * call.program->itemsize[k];
  }
  return bytes;
}

/// The elements of a vector of up to so many bytes: a power of two, one at least.
int elements_in(std::uint32_t bytes, std::uint32_t itemsize) {
  return static_cast<int>(std::bit_floor(std::max(bytes / itemsize, 1u)));
}

/// How the elements of a few accesses of each output are read by one thread; none if there are
/// more, or so few outputs that several threads have to share one. What a thread writes of a vector
/// of outputs is a sector at most, by stores of 16 bytes; but one store where the outputs have
/// twice the bytes of their elements, as stores of half a sector each take twice as long.
std::optional<VectorAccess> vectors_of_few(const KernelCall& call, ReduceOrder& order,
                                           int multiprocessors) {
  constexpr std::int64_t outputs = 2048;  // of a multiprocessor
  constexpr std::int64_t most = 16, most_bytes = 128, widest = 16;
  constexpr std::uint32_t one_store = 16;
  if (call.kept < outputs * multiprocessors || call.operands.size() < 2) return std::nullopt;
  if (call.reduced > most * widest) return std::nullopt;  // whatever the vectors are
  const std::uint32_t itemsize = call.program->itemsize[0];
  const std::uint64_t read = static_cast<std::uint64_t>(call.reduced) * bytes_of(call, {});
  const int columns = std::min(most_columns(loops_of(call).fold->accumulator_size),
                               elements_in(2 * read <= itemsize ? one_store : sector, itemsize));
  ReduceOrder found = order;
  found.along_reduced = false, found.pieces = order.along_reduced;
  found.unaligned = !order.tile_axis;
  const VectorAccess vectors = found.pieces ? piece_vectors(CallOperands(call), call.shape.back())
                                            : vectors_of(call, found, columns);
  const std::int64_t accesses = call.reduced / (found.pieces ? vectors.width : 1);
  if (accesses > most) return std::nullopt;
  if (accesses * static_cast<std::int64_t>(bytes_of(call, vectors)) > most_bytes)
    return std::nullopt;
  order = found;
  order.accesses = static_cast<int>(accesses);
  return vectors;
}

/// The outputs of a thread in columns, at most. Where they are no small part of what moves, a
/// sector of them: a wider vector is written in parts of sectors, each of which takes as long as a
/// whole one. Vectors that begin at any element are worth being wide in more cases.
int columns_of_thread(const KernelCall& call, std::size_t accumulator_size, bool unaligned) {
  const int most = most_columns(accumulator_size);
  if (call.operands.size() < 2) return most;
  const std::uint32_t* const size = call.program->itemsize;
  const std::int64_t small_part = unaligned ? 16 : 160;
  if (call.reduced * size[1] > small_part * size[0]) return most;
  return std::min(most, elements_in(sector, size[0]));
}

/// Whether vectors of outputs begin at any element. To read those takes more instructions, which
/// wide ones are worth if accumulators are small; four places of bytes are found at once, in many
/// rows. Where rows can be folded, and are short enough for many splits, aligned vectors are as
/// wide.
bool are_unaligned(const KernelCall& call, const std::optional<KernelCall>& folds, int most,
                   int multiprocessors) {
  constexpr std::uint64_t wide_enough = 8;
  constexpr std::int64_t vectors_of_multiprocessor = 48;
  const ReduceOrder order{.along_reduced = false, .unaligned = true};
  const VectorAccess vectors = column_vectors_of(call, order, most);
  if (vectors.places != VectorPlaces::unaligned) return false;
  const std::uint64_t bytes = bytes_of(call, vectors);
  if (loops_of(call).finds_positions) {
    const bool are_bytes = call.program->itemsize[1] == 1;
    const std::int64_t many_rows = are_bytes ? 16 : 128, long_row = are_bytes ? 0 : 64;
    return finds_in_columns(call) && call.reduced >= many_rows &&
           call.shape[call.kept_rank - 1] >= long_row;
  }
  if (bytes < wide_enough) return false;
  return !folds || folds->kept / vectors.width >= vectors_of_multiprocessor * multiprocessors;
}

/// Whether aligned vectors of outputs are less than a word.
bool is_narrow(const KernelCall& call, int most) {
  constexpr std::uint64_t word = 4;
  return bytes_of(call, column_vectors_of(call, {.along_reduced = false}, most)) < word;
}

/// How columns are walked: folded or as they are, by vectors of up to `most` outputs.
struct ColumnWalk {
  std::optional<KernelCall> folds = std::nullopt;
  bool unaligned = false;
  int most;
};
ColumnWalk column_walk(const KernelCall& call, int multiprocessors) {
  const kernels::reduce_loops& loops = loops_of(call);
  const std::size_t accumulator_size = loops.fold->accumulator_size;
  const int most = columns_of_thread(call, accumulator_size, false),
            most_unaligned = columns_of_thread(call, accumulator_size, true);
  const bool can_fold = !loops.have_positions && !loops.finds_positions;
  std::optional<KernelCall> folds = can_fold ? folded(call, accumulator_size) : std::nullopt;
  if (are_unaligned(call, folds, most_unaligned, multiprocessors)) {
    return {.unaligned = true, .most = most_unaligned};
  }
  if (can_fold && is_narrow(folds ? *folds : call, most)) {
    std::optional<KernelCall> anywhere = folded_anywhere(call, accumulator_size);
    if (anywhere && are_unaligned(*anywhere, std::nullopt, most_unaligned, multiprocessors)) {
      return {.folds = std::move(anywhere), .unaligned = true, .most = most_unaligned};
    }
  }
  return {.folds = std::move(folds), .most = most};
}

/// The same of rows with the last reduced axis among their outputs. None if these have no wider
/// vectors, or if the elements are words.
std::optional<ColumnWalk> inner_walk(const KernelCall& call, ReduceOrder order,
                                     int multiprocessors) {
  constexpr std::uint64_t wide_enough = 8;
  constexpr std::uint32_t most_bytes = 2;
  const kernels::reduce_loops& loops = loops_of(call);
  if (loops.have_positions || loops.finds_positions) return std::nullopt;
  if (call.operands.size() < 2 || call.program->itemsize[1] > most_bytes) return std::nullopt;
  const std::size_t accumulator_size = loops.fold->accumulator_size;
  std::optional<KernelCall> kept = inner_kept(call, accumulator_size);
  if (!kept) return std::nullopt;
  const VectorAccess usual =
      vectors_of(call, order, columns_of_thread(call, accumulator_size, false));
  const bool is_ragged = usual.places == VectorPlaces::ragged;
  if (!is_ragged && bytes_of(call, usual) >= wide_enough) return std::nullopt;
  const int most_unaligned = columns_of_thread(*kept, accumulator_size, true);
  const bool unaligned = are_unaligned(*kept, std::nullopt, most_unaligned, multiprocessors);
  const int most = unaligned ? most_unaligned : columns_of_thread(*kept, accumulator_size, false);
  const ReduceOrder columns{.along_reduced = false, .unaligned = unaligned};
  if (bytes_of(*kept, column_vectors_of(*kept, columns, most)) < wide_enough) return std::nullopt;
  return ColumnWalk{.folds = std::move(kept), .unaligned = unaligned, .most = most};
}

/// So many partial results move a twentieth of what is read.
std::int64_t most_splits(const KernelCall& call, std::size_t accumulator_size) {
  if (call.operands.size() < 2) return 1;
  return call.reduced * call.program->itemsize[1] /
         static_cast<std::int64_t>(40 * accumulator_size);
}

ReduceShape shape_of(const KernelCall& call, const ReduceOrder& order,
                     const VectorAccess& vectors) {
  const std::size_t accumulator_size = loops_of(call).fold->accumulator_size;
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
          .most_splits = most_splits(call, accumulator_size),
          .vector_bytes = static_cast<std::int64_t>(
              std::bit_floor(std::max<std::uint64_t>(bytes_of(call, vectors), 1))),
          .accumulator_bytes = static_cast<std::int64_t>(accumulator_size)};
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

/// Memory for `splits` partial accumulators of every output.
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
      staged_geometry(*rows, *shape, call.kept, most_splits(call, loops.fold->accumulator_size),
                      launcher.multiprocessors());
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

}  // namespace

void launch_reduce(const Launcher& launcher) {
  const KernelCall& call = launcher.call;
  const kernels::reduce_loops& loops = loops_of(call);
  const std::size_t accumulator_size = loops.fold->accumulator_size;
  const std::optional<std::size_t> tiles = tile_axis(call, launcher.multiprocessors());
  ReduceOrder order{.along_reduced = call.along_reduced && !tiles, .tile_axis = tiles};
  if (const auto few = vectors_of_few(call, order, launcher.multiprocessors())) {
    return launch_few(launcher, order, *few);
  }
  if (!tiles && launch_staged(launcher)) return;
  std::optional<ColumnWalk> inner =
      tiles ? std::nullopt : inner_walk(call, order, launcher.multiprocessors());
  if (inner) order.along_reduced = false;
  const std::optional<KernelCall> merged =
      tiles || inner ? std::nullopt : along_inputs(call, accumulator_size);
  const KernelCall& unfolded = merged ? *merged : call;
  const bool has_columns = !tiles && !order.along_reduced && call.kept_rank > 0;
  const ColumnWalk columns =
      inner         ? std::move(*inner)
      : has_columns ? column_walk(unfolded, launcher.multiprocessors())
                    : ColumnWalk{.most = columns_of_thread(call, accumulator_size, false)};
  const std::optional<KernelCall>& folds = columns.folds;
  order.folded = folds.has_value(), order.unaligned = columns.unaligned;
  const KernelCall& walked = folds ? *folds : unfolded;
  const VectorAccess vectors = vectors_of(walked, order, columns.most);
  ReduceShape shape = shape_of(walked, order, vectors);
  ReduceGeometry g = reduce_geometry(shape, launcher.multiprocessors());
  Reduce variant = variant_of(walked, order, vectors, g.wide_index);
  const auto finishes = [&] {
    const std::size_t bytes = static_cast<std::size_t>(call.kept) * accumulator_size;
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
  const std::int64_t splits = walked.kept / call.kept * g.splits;  // of each output
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
