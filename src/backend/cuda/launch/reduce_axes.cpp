// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/reduce_axes.hpp"

#include <algorithm>
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

}  // namespace

std::optional<KernelCall> along_inputs(const KernelCall& call, std::size_t accumulator_size) {
  constexpr std::int64_t small_part = 16;
  if (call.kept_rank < 2 || call.operands.size() < 2) return std::nullopt;
  const auto size = static_cast<std::int64_t>(accumulator_size);
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

std::optional<KernelCall> folded(const KernelCall& call, std::size_t accumulator_size,
                                 bool finds_positions) {
  constexpr std::int64_t small_part = 16;
  constexpr std::uint32_t wide_enough = 8;     // bytes
  constexpr std::size_t most_accumulator = 8;  // those of bytes are smaller in a thread
  if (finds_positions || call.kept_rank == 0 || call.operands.size() < 2) return std::nullopt;
  const std::size_t row = call.kept_rank - 1, rows = call.rank() - 1;
  const std::int64_t columns = call.shape[row], count = call.shape[rows];
  const std::uint32_t size = call.program->itemsize[1];
  if (accumulator_size > most_accumulator && size > 1) return std::nullopt;
  const int widest = most_columns(accumulator_size);
  const int width = column_vectors(CallOperands(call), row, columns, true, widest).width;
  if (static_cast<std::uint32_t>(width) * size >= wide_enough) return std::nullopt;
  for (std::size_t k = 1; k < call.operands.size(); ++k) {
    const Strides& strides = call.operands[k].strides;
    if (strides[rows] != strides[row] * columns) return std::nullopt;
  }
  for (std::int64_t vector = widest; vector > width; vector /= 2) {
    const std::int64_t fold = vector / std::gcd(vector, columns), rest = count % fold;
    const auto written = fold * static_cast<std::int64_t>(accumulator_size);
    if (call.reduced * size < small_part * written) continue;
    if (rest > 0 && call.reduced_rank() > 1) continue;
    KernelCall result(call);
    result.shape[row] *= fold, result.kept *= fold;
    result.shape[rows] = count / fold, result.reduced = call.reduced / count * (count / fold);
    for (Operand& operand : result.operands) operand.strides[rows] *= fold;
    Strides& places = result.operands[0].strides;
    std::fill(places.begin(), places.end(), 0);
    places[row] = columns, places[rows] = rest * columns;
    const VectorAccess vectors =
        column_vectors(CallOperands(result), row, result.shape[row], true, widest);
    if (vectors.width == vector) return result;
  }
  return std::nullopt;
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
