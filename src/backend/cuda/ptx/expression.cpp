// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/ptx/expression.hpp"

#include <algorithm>
#include <charconv>

namespace quarry::backend::cuda {

using kernels::TypeTree;

std::optional<int> number_of(const TypeTree& argument) {
  const std::string_view text = argument.text;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// What all elements have stays known.
void PtxExpressions::go_to(int first, int count) {
  first_ = first, count_ = count;
  std::erase_if(known_, [](const auto& known) { return known.second.size() > 1; });
}

std::optional<PtxLanes> PtxExpressions::evaluate(const TypeTree& expression, TypeId type) {
  const std::optional<PtxLanes> values = value_of(expression);
  return values ? converted(*values, type) : std::nullopt;
}

std::optional<PtxLanes> PtxExpressions::converted(const PtxLanes& values, TypeId type) {
  PtxLanes result;
  for (const PtxValue& value : values) {
    const std::optional<PtxValue> one = code_.convert(value, type);
    if (!one) return std::nullopt;
    result.push_back(*one);
  }
  return result;
}

std::optional<PtxLanes> PtxExpressions::value_of(const TypeTree& expression) {
  const auto found = known_.find(expression.text);
  if (found != known_.end()) return found->second;
  std::optional<PtxLanes> values = compute(expression);
  if (values) known_.emplace(expression.text, *values);
  return values;
}

PtxLanes PtxExpressions::positions() {
  PtxLanes result;
  for (int k = 0; k < count_; ++k) result.push_back(context_.position(first_ + k));
  return result;
}

std::optional<PtxLanes> PtxExpressions::compute(const TypeTree& expression) {
  const auto& arguments = expression.arguments;
  if (expression.name == "op") return operation(expression);
  if (arguments.empty()) return std::nullopt;
  const std::optional<TypeId> type = kernels::element_type(arguments[0].text);
  if (!type) return std::nullopt;
  if (expression.name == "iota") return converted(positions(), *type);
  if (arguments.size() != 2) return std::nullopt;
  if (expression.name == "cast") return evaluate(arguments[1], *type);
  const std::optional<int> number = number_of(arguments[1]);
  if (!number) return std::nullopt;
  const auto k = static_cast<std::size_t>(*number);
  if (expression.name == "in") return context_.input(k, first_, count_);
  if (expression.name == "val") return PtxLanes{context_.scalar(k, *type)};
  return std::nullopt;
}

namespace {

bool has_mixed_signs(TypeId a, TypeId b) {
  const auto is_of = [](TypeId id, Kind kind) { return DType(id).kind() == kind; };
  return (is_of(a, Kind::signed_integer) && is_of(b, Kind::unsigned_integer)) ||
         (is_of(a, Kind::unsigned_integer) && is_of(b, Kind::signed_integer));
}

}  // namespace

/// op<Functor, Loop, Operands...>
std::optional<PtxLanes> PtxExpressions::operation(const TypeTree& expression) {
  const auto& arguments = expression.arguments;
  if (arguments.size() < 3 || arguments.size() > 5) return std::nullopt;
  const std::optional<TypeId> loop = kernels::element_type(arguments[1].text);
  if (!loop) return std::nullopt;
  const OperationPtx* const row =
      find_operation(fmt::format("{} {}", arguments[0].name, DType(*loop).name()));
  const std::size_t operands = arguments.size() - 2;
  if (!row || static_cast<std::size_t>(row->operands) != operands) return std::nullopt;
  std::vector<PtxLanes> values;
  for (std::size_t k = 0; k < operands; ++k) {
    const std::optional<PtxLanes> own = value_of(arguments[2 + k]);
    if (!own) return std::nullopt;
    values.push_back(*own);
  }
  if (row->compares && has_mixed_signs(values[0][0].type, values[1][0].type)) return std::nullopt;
  std::size_t lanes = 1;
  for (std::size_t k = 0; k < operands; ++k) {
    const auto wanted = converted(values[k], static_cast<TypeId>(row->operand[k]));
    if (!wanted) return std::nullopt;
    values[k] = *wanted;
    lanes = std::max(lanes, values[k].size());
  }
  PtxLanes result;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    PtxValue of_lane[3];
    for (std::size_t k = 0; k < operands; ++k) {
      of_lane[k] = values[k][values[k].size() == 1 ? 0 : lane];
    }
    result.push_back(code_.apply(*row, of_lane));
  }
  return result;
}

}  // namespace quarry::backend::cuda
