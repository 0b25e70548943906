// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/operation_name.hpp"

#include <quarry/base/dtype.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "kernels/type_tree.hpp"
#include "kernels/user_function.hpp"

namespace quarry::kernels {
namespace {

using text::is_name_character;

constexpr std::size_t most_operations = 8;  ///< that a name has

constexpr const char* families[] = {
#define QUARRY_FAMILY(name) #name,
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
};

/// The type of the results is the first argument of the program's type that is a type of elements.
std::string_view result_type(std::string_view program) {
  int depth = 0;
  std::size_t begin = program.find('<') + 1;
  for (std::size_t at = begin; at < program.size(); ++at) {
    const char c = program[at];
    const bool ends = depth == 0 && (c == ',' || c == '>');
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (!ends) continue;
    while (begin < at && program[begin] == ' ') ++begin;
    if (const auto id = element_type(program.substr(begin, at - begin))) return DType(*id).name();
    begin = at + 1;
  }
  return {};
}

/// add of add_op, sum of sum_of, f of f_function (QUARRY_FUNCTION); nothing for other words.
std::string_view operation_of(std::string_view word) {
  for (const std::string_view ending : {"_op", "_of", "_function"}) {
    if (word.ends_with(ending)) return word.substr(0, word.size() - ending.size());
  }
  return {};
}

std::string with_operations(std::string name, std::string_view program) {
  std::size_t count = 0;
  for (std::size_t begin = program.find('<'), end = 0; begin < program.size(); begin = end + 1) {
    for (end = begin; end < program.size() && is_name_character(program[end]);) ++end;
    const std::string_view operation = operation_of(program.substr(begin, end - begin));
    if (operation.empty() || ++count > most_operations) continue;
    name.append(" ").append(operation);
  }
  if (count > most_operations) name += " ...";
  const std::string_view type = result_type(program);
  return type.empty() ? name : name.append(" ").append(type);
}

}  // namespace

std::string operation_name(const program& program) {
  return with_operations(families[static_cast<std::size_t>(program.kind)], program.name);
}

std::string kernel_identifier(std::string_view kernel, std::string_view program_name) {
  std::string identifier;
  for (const char c : with_operations(std::string(kernel), program_name)) {
    if (is_name_character(c)) {
      identifier += c;
    } else if (identifier.back() != '_') {
      identifier += '_';
    }
  }
  return identifier;
}

}  // namespace quarry::kernels
