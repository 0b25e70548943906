// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/ptx/code.hpp"

#include <algorithm>

namespace quarry::backend::cuda {
namespace {

/// Calls use(name) for each of the names with spaces between them.
void for_each_name(std::string_view names, const auto& use) {
  while (!names.empty()) {
    const auto end = std::min(names.find(' '), names.size());
    use(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

}  // namespace

/// In a block of its own: the text has registers and labels of its own.
PtxValue PtxCode::apply(const OperationPtx& operation, const PtxValue* operands) {
  const auto type = static_cast<TypeId>(operation.result);
  PtxValue result{type, for_type(type)};
  body_ += "{\n";
  for (std::string_view text = operation.text; !text.empty();) {
    const auto sign = std::min(text.find('$'), text.size());
    body_ += text.substr(0, sign);
    text.remove_prefix(sign);
    if (text.size() < 2) break;
    const char which = text[1];
    if (which == 'r') {
      body_ += result.in;
    } else if (which >= '0' && which <= '2') {
      body_ += operands[which - '0'].in;
    } else {  // of a label
      body_ += text.substr(0, 2);
    }
    text.remove_prefix(2);
  }
  body_ += "}\n";
  for_each_name(operation.uses, [&](std::string_view name) { used_.insert(name); });
  return result;
}

std::optional<PtxValue> PtxCode::convert(const PtxValue& value, TypeId type) {
  if (value.type == type) return value;
  const OperationPtx* const conversion =
      find_operation(fmt::format("convert {} {}", DType(value.type).name(), DType(type).name()));
  if (!conversion) return std::nullopt;
  return apply(*conversion, &value);
}

void PtxCode::define(std::string_view name, std::set<std::string_view>& defined,
                     std::string& text) {
  if (!defined.insert(name).second) return;
  const OperationPtx& row = *find_operation(name);
  for_each_name(row.uses, [&](std::string_view used) { define(used, defined, text); });
  text += row.text;
}

std::string PtxCode::module(std::string_view target, std::string_view comment,
                            std::string_view entry, std::string_view parameters) const {
  std::string definitions;
  std::set<std::string_view> defined;
  for (const std::string_view name : used_) define(name, defined, definitions);
  return fmt::format(
      "// {}\n.version 7.8\n.target {}\n.address_size 64\n{}.visible .entry {}({})\n"
      ".maxntid 256\n{{\n.reg .b32 %v<{}>;\n.reg .b64 %w<{}>;\n.reg .pred %c<{}>;\n{}}}\n",
      comment, target, definitions, entry, parameters, words_ + 1, wides_ + 1, predicates_ + 1,
      body_);
}

}  // namespace quarry::backend::cuda
