// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/reduce_axes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backend/cuda/launch/vectors.hpp"

namespace quarry::backend::cuda {
namespace {

/// Whether all inputs run through the axes `axis` and the next one as through one axis.
bool inputs_merge(const KernelCall& call, std::size_t axis) {
  for (std::size_t k = 1; k < call.operands.size(); ++k) {
    const Strides& strides = call.operands[k].strides;
    if (strides[axis] != strides[axis + 1] * call.shape[axis + 1]) return false;
  }
  return true;
}

void merge_with_next(KernelCall& call, std::size_t axis) {
  const auto erase = [=](auto& values) {
    for (std::size_t d = axis; d + 1 < values.size(); ++d) values[d] = values[d + 1];
    values.truncate(values.size() - 1);
  };
  call.shape[axis + 1] *= call.shape[axis];
  erase(call.shape);
  for (Operand& operand : call.operands) erase(operand.strides);
  --call.kept_rank;
}

/// Bytes that are read for each byte of accumulators, at least.
constexpr std::int64_t small_part = 16;

/// Groups of elements that rows consist of, with as many of each of `columns` outputs.
struct Groups {
  std::int64_t columns, elements;
};

constexpr std::int64_t most_elements = std::numeric_limits<std::int32_t>::max();

/// Says in the strides of the output how the last kept axis has rows of so many elements.
void set_folded(KernelCall& call, const Groups& groups, std::int64_t row, std::int64_t rest) {
  const auto word = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  const kernels::folded_rows rows{word(groups.columns), word(groups.elements), word(row),
                                  word(rest)};
  Strides& strides = call.operands[0].strides;
  std::fill(strides.begin(), strides.end(), 0);
  strides[call.kept_rank - 1] = rows.last_kept(), strides.back() = rows.last_reduced();
}

/// Rows of outputs, one behind another along the last reduced axis.
struct Rows {
  explicit Rows(const KernelCall& of)
      : call(of),
        accumulator_size(loops_of(of).kernel_accumulator),
        row(of.kept_rank - 1),
        rows(of.rank() - 1),
        columns(of.shape[row]),
        count(of.shape[rows]),
        others(of.reduced / count) {}
  const KernelCall& call;
  std::int64_t accumulator_size;
  std::size_t row, rows;        ///< axes
  std::int64_t columns, count;  ///< their extents
  std::int64_t others;          ///< positions of the other reduced axes

  bool are_dense() const {
    for (std::size_t k = 1; k < call.operands.size(); ++k) {
      const Strides& strides = call.operands[k].strides;
      if (strides[rows] != strides[row] * columns) return false;
    }
    return true;
  }
  /// Whether there are `fold` rows, whose partial accumulators are a small part of what is read by
  /// such vectors, and what is left of the axis is of few other positions, which a thread reads one
  /// after another.
  bool can_fold(std::int64_t fold, std::int64_t vector) const {
    constexpr std::int64_t few = 16;
    if (fold > count || (count % fold != 0 && others > few)) return false;
    if (fold > most_elements / columns) return false;
    const std::int64_t partials = partials_of_split(fold, fold * columns / vector);
    return call.reduced * call.program->itemsize[1] >= small_part * partials * accumulator_size;
  }
  /// Of groups of so many elements and outputs.
  KernelCall fold(std::int64_t fold, const Groups& groups) const {
    KernelCall result(call);
    result.shape[row] *= fold, result.kept *= fold;
    result.shape[rows] = count / fold, result.reduced = others * (count / fold);
    for (Operand& operand : result.operands) operand.strides[rows] *= fold;
    set_folded(result, groups, columns, count % fold * columns);
    return result;
  }
};

/// None if the rows do not lie so, or have large accumulators; those of bytes are smaller in a
/// thread.
std::optional<Rows> foldable_rows(const KernelCall& call) {
  constexpr std::uint32_t most = 8;
  if (call.kept_rank == 0 || call.operands.size() < 2) return std::nullopt;
  if (loops_of(call).kernel_accumulator > most && call.program->itemsize[1] > 1)
    return std::nullopt;
  const Rows rows(call);
  return rows.are_dense() ? std::optional(rows) : std::nullopt;
}

/// See reduce_axes.hpp; of rows that consist of such groups.
std::optional<KernelCall> folded(const KernelCall& call, const Groups& groups) {
  constexpr std::uint32_t wide_enough = 8;  // bytes
  const std::optional<Rows> rows = foldable_rows(call);
  if (!rows) return std::nullopt;
  const std::size_t row = rows->row;
  const std::int64_t columns = rows->columns;
  const std::uint32_t size = call.program->itemsize[1];
  const int widest = most_columns(call, false);
  const int width = column_vectors(CallOperands(call), row, columns, true, widest).width;
  if (static_cast<std::uint32_t>(width) * size >= wide_enough) return std::nullopt;
  for (std::int64_t vector = widest; vector > width; vector /= 2) {
    const std::int64_t fold = vector / std::gcd(vector, columns);
    if (!rows->can_fold(fold, vector)) continue;
    KernelCall result = rows->fold(fold, groups);
    const VectorAccess vectors =
        column_vectors(CallOperands(result), row, result.shape[row], true, widest);
    if (vectors.width == vector) return result;
  }
  return std::nullopt;
}

}  // namespace

bool has_exact_moments(const KernelCall& call) {
  const kernels::reduce_loops& loops = loops_of(call);
  return loops.kernel_accumulator < loops.fold->accumulator_size;
}

int most_columns(const KernelCall& call, bool unaligned) {
  return most_columns(loops_of(call).kernel_accumulator, has_exact_moments(call), unaligned);
}

std::optional<KernelCall> along_inputs(const KernelCall& call) {
  if (call.kept_rank < 2 || call.operands.size() < 2) return std::nullopt;
  const auto size = std::int64_t{loops_of(call).kernel_accumulator};
  if (call.reduced * call.program->itemsize[1] < small_part * size) return std::nullopt;
  std::optional<KernelCall> merged;
  for (std::size_t axis = call.kept_rank - 1; axis-- > 0;) {
    if (!inputs_merge(merged ? *merged : call, axis)) continue;
    if (!merged) merged.emplace(call);
    merge_with_next(*merged, axis);
  }
  if (merged) std::fill_n(merged->operands[0].strides.begin(), merged->kept_rank, 0);
  return merged;
}

std::optional<KernelCall> folded(const KernelCall& call) {
  if (call.kept_rank == 0) return std::nullopt;
  const std::int64_t columns = call.shape[call.kept_rank - 1];
  return folded(call, Groups{columns, columns});
}

std::optional<KernelCall> folded_anywhere(const KernelCall& call) {
  constexpr std::int64_t enough = 256, looks = 64;
  const std::optional<Rows> rows = foldable_rows(call);
  if (!rows || rows->columns >= enough) return std::nullopt;
  const std::int64_t least = std::min((enough - 1) / rows->columns + 1, rows->count);
  const Groups groups{rows->columns, rows->columns};
  const int vector = most_columns(call, true);
  for (std::int64_t fold = least; fold < least + looks; ++fold) {  // of which none is left over
    if (rows->count % fold == 0 && rows->can_fold(fold, vector)) return rows->fold(fold, groups);
  }
  for (const std::int64_t fold : {least, rows->count}) {
    if (rows->can_fold(fold, vector)) return rows->fold(fold, groups);
  }
  return std::nullopt;
}

std::optional<KernelCall> inner_kept(const KernelCall& call) {
  constexpr std::int64_t short_run = 256, gain = 2, few = 8;  // bytes, times, positions
  if (call.kept_rank == 0 || call.reduced_rank() < 2 || call.operands.size() < 2)
    return std::nullopt;
  const std::size_t inner = call.rank() - 1;
  const Strides& strides = call.operands[1].strides;
  const auto apart = [&](std::size_t axis) { return std::abs(strides[axis]); };
  if (apart(call.kept_rank - 1) >= apart(inner - 1)) return std::nullopt;
  const auto size = std::int64_t{loops_of(call).kernel_accumulator};
  const auto itemsize = static_cast<std::int64_t>(call.program->itemsize[1]);
  const std::int64_t count = call.shape[inner], others = call.reduced / count;
  if (others < few) return std::nullopt;
  std::int64_t behind = 1;
  std::size_t at = call.kept_rank;
  for (; at > 0 && apart(at - 1) < apart(inner); --at) behind *= call.shape[at - 1];
  const std::int64_t run = behind > 1 ? behind : count;
  if (run * itemsize >= short_run) return std::nullopt;
  KernelCall result(call);
  const auto move = [=](auto& values) {
    std::rotate(values.begin() + static_cast<std::ptrdiff_t>(at), values.end() - 1, values.end());
  };
  move(result.shape);
  for (Operand& operand : result.operands) move(operand.strides);
  ++result.kept_rank, result.kept *= count, result.reduced = others;
  for (std::size_t axis = result.kept_rank - 1; axis-- > 0;) {
    if (inputs_merge(result, axis)) merge_with_next(result, axis);
  }
  const std::int64_t row = result.shape[result.kept_rank - 1];
  if (row < gain * run || row > most_elements) return std::nullopt;
  const std::int64_t partials = partials_of_split(count, row / most_columns(call, false));
  if (call.reduced * itemsize < small_part * partials * size) return std::nullopt;
  set_folded(result, {behind, count * behind}, row, 0);
  return result;
}

std::optional<KernelCall> folded_inner(const KernelCall& inner) {
  const Strides& strides = inner.operands[0].strides;
  const auto rows = kernels::folded_rows::of(strides[inner.kept_rank - 1], strides.back());
  return folded(inner, Groups{rows.columns, rows.group});
}

bool is_run(const KernelCall& call) {
  for (std::size_t axis = call.kept_rank; axis + 1 < call.rank(); ++axis) {
    if (!inputs_merge(call, axis)) return false;
  }
  return true;
}

std::int64_t places_in_vectors(const KernelCall& call, int width) {
  const std::int64_t row = call.shape.back(), rows = call.reduced / row;
  return rows * ((row + 2 * (width - 1)) / width * width);
}

}  // namespace quarry::backend::cuda
