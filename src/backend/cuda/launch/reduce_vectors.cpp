// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/reduce_vectors.hpp"

#include <quarry/kernels/access.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace quarry::backend::cuda {
namespace {

constexpr std::uint32_t sector = 32;  // bytes

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
  const bool are_light = loops_of(call).kernel_accumulator <= light_accumulator;
  const bool are_bytes = operands.all.size() == 2 && operands.itemsizes[1] == 1;
  if (!are_light && !are_bytes) most = std::min(most, 4);
  const VectorAccess unaligned =
      unaligned_column_vectors(operands, axis, call.shape[axis], aligned.width, most);
  return unaligned.width > aligned.width ? unaligned : aligned;
}

/// The elements of a vector of up to so many bytes: a power of two, one at least.
int elements_in(std::uint32_t bytes, std::uint32_t itemsize) {
  return static_cast<int>(std::bit_floor(std::max(bytes / itemsize, 1u)));
}

/// Whether aligned vectors of outputs are less than a word.
bool is_narrow(const KernelCall& call, int most) {
  constexpr std::uint64_t word = 4;
  return bytes_of(call, column_vectors_of(call, {.along_reduced = false}, most)) < word;
}

/// Whether vectors of outputs begin at any element. To read those takes more instructions, which
/// wide ones are worth if accumulators are small, or where places are found in several columns at
/// once, in many rows. Where rows can be folded, and are short enough for many splits, aligned
/// vectors are as wide.
bool are_unaligned(const KernelCall& call, const std::optional<KernelCall>& folds, int most,
                   int multiprocessors) {
  constexpr std::uint64_t wide_enough = 8;
  constexpr std::int64_t vectors_of_multiprocessor = 48, long_column = 64;
  const ReduceOrder order{.along_reduced = false, .unaligned = true};
  const VectorAccess vectors = column_vectors_of(call, order, most);
  if (vectors.places != VectorPlaces::unaligned) return false;
  const std::uint64_t bytes = bytes_of(call, vectors);
  if (loops_of(call).finds_positions) {
    constexpr std::int64_t long_row = 64, never = std::numeric_limits<std::int64_t>::max();
    const bool are_bytes = call.program->itemsize[1] == 1,
               are_long = call.shape[call.kept_rank - 1] >= long_row;
    const std::int64_t rows = are_bytes ? (are_long ? 16 : 512) : are_long ? 128 : never;
    return finds_in_columns(call) && call.reduced >= rows;
  }
  if (bytes < wide_enough) return false;
  if (has_exact_moments(call))
    return call.reduced >= long_column &&
           is_narrow(folds ? *folds : call, most_columns(call, false));
  return !folds || folds->kept / vectors.width >= vectors_of_multiprocessor * multiprocessors;
}

}  // namespace

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

std::optional<VectorAccess> vectors_of_few(const KernelCall& call, ReduceOrder& order,
                                           int multiprocessors) {
  constexpr std::int64_t outputs = 2048;  // of a multiprocessor
  constexpr std::int64_t most = 16, most_bytes = 128, widest = 16;
  constexpr std::uint32_t one_store = 16;
  if (call.kept < outputs * multiprocessors || call.operands.size() < 2) return std::nullopt;
  if (call.reduced > most * widest) return std::nullopt;  // whatever the vectors are
  const std::uint32_t itemsize = call.program->itemsize[0];
  const std::uint64_t read = static_cast<std::uint64_t>(call.reduced) * bytes_of(call, {});
  const int columns = std::min(most_columns(call, false),
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

int columns_of_thread(const KernelCall& call, bool unaligned) {
  const int most = most_columns(call, unaligned);
  if (call.operands.size() < 2) return most;
  const std::uint32_t* const size = call.program->itemsize;
  const std::int64_t small_part = unaligned ? 16 : 160;
  // kernels/joined_stores.cuh; aligned vectors as wide as a sector of results are faster
  const bool are_joined = unaligned && call.operands[0].strides[call.kept_rank - 1] ==
                                           static_cast<std::int64_t>(size[0]);
  if (are_joined || call.reduced * size[1] > small_part * size[0]) return most;
  return std::min(most, elements_in(sector, size[0]));
}

ColumnWalk column_walk(const KernelCall& call, int multiprocessors) {
  const kernels::reduce_loops& loops = loops_of(call);
  const int most = columns_of_thread(call, false), most_unaligned = columns_of_thread(call, true);
  const bool can_fold = !loops.have_positions && !loops.finds_positions;
  std::optional<KernelCall> folds = can_fold ? folded(call) : std::nullopt;
  if (are_unaligned(call, folds, most_unaligned, multiprocessors)) {
    return {.unaligned = true, .most = most_unaligned};
  }
  if (can_fold && is_narrow(folds ? *folds : call, most)) {
    std::optional<KernelCall> anywhere = folded_anywhere(call);
    if (anywhere && are_unaligned(*anywhere, std::nullopt, most_unaligned, multiprocessors)) {
      return {.folds = std::move(anywhere), .unaligned = true, .most = most_unaligned};
    }
  }
  return {.folds = std::move(folds), .most = most};
}

std::optional<ColumnWalk> inner_walk(const KernelCall& call, ReduceOrder order,
                                     int multiprocessors) {
  constexpr std::uint64_t wide_enough = 8;
  constexpr std::uint32_t most_bytes = 2;
  const kernels::reduce_loops& loops = loops_of(call);
  if (loops.have_positions || loops.finds_positions) return std::nullopt;
  if (call.operands.size() < 2 || call.program->itemsize[1] > most_bytes) return std::nullopt;
  std::optional<KernelCall> kept = inner_kept(call);
  if (!kept) return std::nullopt;
  const VectorAccess usual = vectors_of(call, order, columns_of_thread(call, false));
  const bool is_ragged = usual.places == VectorPlaces::ragged;
  if (!is_ragged && bytes_of(call, usual) >= wide_enough) return std::nullopt;
  const std::uint64_t enough =
      loops.kernel_accumulator <= light_accumulator ? wide_enough : wide_enough / 2;
  const auto walk = [&](KernelCall& walked, bool unaligned) -> std::optional<ColumnWalk> {
    const ReduceOrder columns{.along_reduced = false, .unaligned = unaligned};
    const int most = columns_of_thread(walked, unaligned);
    const VectorAccess vectors = column_vectors_of(walked, columns, most);
    if (bytes_of(walked, vectors) < enough) return std::nullopt;
    return ColumnWalk{.folds = std::move(walked), .unaligned = unaligned, .most = most};
  };
  const auto can_be_unaligned = [&](const std::optional<KernelCall>& folds) {
    const int most = columns_of_thread(*kept, true);
    return are_unaligned(*kept, folds, most, multiprocessors);
  };
  std::optional<KernelCall> folds = folded_inner(*kept);
  if (folds && !can_be_unaligned(folds)) {
    if (auto found = walk(*folds, false)) return found;
  }
  return walk(*kept, can_be_unaligned(std::nullopt));
}

}  // namespace quarry::backend::cuda
