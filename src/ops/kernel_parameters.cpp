// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/kernel_parameters.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <quarry/base/error.hpp>
#include <quarry/kernels/source_text.hpp>
#include <quarry/kernels/user_function.hpp>

namespace quarry {
namespace {

constexpr std::pair<std::string_view, TypeId> names_of_c[] = {
    {"char", TypeId::int8},
    {"signed char", TypeId::int8},
    {"unsigned char", TypeId::uint8},
    {"short", TypeId::int16},
    {"unsigned short", TypeId::uint16},
    {"int", TypeId::int32},
    {"unsigned int", TypeId::uint32},
    {"unsigned", TypeId::uint32},
    {"long", TypeId::int64},
    {"unsigned long", TypeId::uint64},
    {"long long", TypeId::int64},
    {"unsigned long long", TypeId::uint64},
    {"size_t", TypeId::uint64},
    {"float", TypeId::float32},
    {"double", TypeId::float64},
    {"half", TypeId::float16},
    {"complex<float>", TypeId::complex64},
    {"complex<double>", TypeId::complex128}};

void add_token(std::string& type, const std::string& token) {
  using kernels::text::is_name_character;
  const bool are_words = !type.empty() && !token.empty() && is_name_character(type.back()) &&
                         is_name_character(token.front());
  type += (are_words ? " " : "") + token;
}

/// The tokens of one parameter, the last of which is its name.
KernelParameter parameter(std::string_view text, std::string_view list) {
  const auto refuse = [&] {
    throw LogicError(
        fmt::format("\"{}\" is no parameter, in \"{}\": a type and a name are", text, list));
  };
  KernelParameter result;
  std::string type;
  std::string_view rest = text;
  for (auto t = kernels::text::next_token(rest); !t.text.empty();
       t = kernels::text::next_token(rest)) {
    if (t.is("*")) {
      if (result.is_pointer) refuse();
      result.is_pointer = true;
    } else if (t.is("raw") && type.empty() && result.name.empty()) {
      result.is_raw = true;
    } else if (t.is("const")) {
      result.is_const = result.is_const || !result.is_pointer;
    } else if (!t.is("__restrict__")) {
      add_token(type, result.name);  // what was the name so far is a part of the type
      result.name = t.text;
    }
  }
  result.type = type;
  if (result.type.empty() || !kernels::is_identifier(result.name)) refuse();
  return result;
}

}  // namespace

bool KernelParameter::is_generic() const {
  return type.size() == 1 && kernels::is_identifier(type);
}

std::vector<KernelParameter> kernel_parameters(std::string_view list) {
  std::vector<KernelParameter> result;
  for (std::string_view rest = list; rest.find_first_not_of(" \t\n") != rest.npos;) {
    const auto comma = std::min(rest.find(','), rest.size());
    result.push_back(parameter(rest.substr(0, comma), list));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto is_same = [&](const KernelParameter& other) {
      return other.name == result.back().name;
    };
    require<LogicError>(std::ranges::count_if(result, is_same) == 1, [&] {
      return fmt::format("two parameters are named {}, in \"{}\"", result.back().name, list);
    });
  }
  return result;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t id = 0; id < type_count; ++id) {
    if (quarry::detail::type_rows[id].name == name) return DType(static_cast<TypeId>(id));
  }
  for (const auto& [known, id] : names_of_c) {
    if (known == name) return DType(id);
  }
  return std::nullopt;
}

std::string_view c_type_name(DType type) {
  static constexpr std::pair<TypeId, std::string_view> names[] = {
      {TypeId::bool_, "bool"},
      {TypeId::int8, "signed char"},
      {TypeId::int16, "short"},
      {TypeId::int32, "int"},
      {TypeId::int64, "long long"},
      {TypeId::uint8, "unsigned char"},
      {TypeId::uint16, "unsigned short"},
      {TypeId::uint32, "unsigned int"},
      {TypeId::uint64, "unsigned long long"},
      {TypeId::float32, "float"},
      {TypeId::float64, "double"}};
  for (const auto& [id, name] : names) {
    if (id == type.id()) return name;
  }
  throw DTypeError(fmt::format("{} is no type of CUDA C++ without headers, of which this kernel is",
                               type.name()));
}

}  // namespace quarry
