// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/expr/text_node.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <quarry/kernels/user_function.hpp>

namespace quarry::expr {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\n";
  const auto begin = text.find_first_not_of(space);
  return begin == text.npos ? std::string_view()
                            : text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

}  // namespace

void require_gpu(const source_text& text, const DeviceNDArrayBase& array) {
  require<LogicError>(!array.device().is_cpu(), [&] {
    return fmt::format(
        "the kernel {} is source for GPUs, and its arguments are on the CPU device: a "
        "QUARRY_FUNCTION runs on both",
        text.name);
  });
}

std::string_view kernel_type_name(DType type) {
  static constexpr std::string_view names[] = {"bool",
                                               "i8",
                                               "i16",
                                               "i32",
                                               "i64",
                                               "u8",
                                               "u16",
                                               "u32",
                                               "u64",
                                               "float16",
                                               "bfloat16",
                                               "float",
                                               "double",
                                               "complex<float>",
                                               "complex<double>"};
  static_assert(std::size(names) == type_count);
  return names[static_cast<std::size_t>(type.id())];
}

std::vector<std::string_view> parameter_names(std::string_view list, std::size_t count) {
  std::vector<std::string_view> names;
  for (std::string_view rest = trimmed(list); !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    names.push_back(trimmed(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    require<LogicError>(kernels::is_identifier(names.back()), [&] {
      return fmt::format("the parameters \"{}\": \"{}\" is no name", list, names.back());
    });
  }
  require<LogicError>(names.size() == count, [&] {
    return fmt::format("the parameters \"{}\" are {}, and the kernel's type has {}", list,
                       names.size(), count);
  });
  return names;
}

std::string function_members(DType result, std::span<const DType> types,
                             std::string_view parameters, const LabelledText& operation) {
  const auto names = parameter_names(parameters, types.size());
  std::string declared, passed;
  for (std::size_t k = 0; k < types.size(); ++k) {
    const char* const comma = k > 0 ? ", " : "";
    declared += fmt::format("{}{} {}", comma, kernel_type_name(types[k]), names[k]);
    passed += fmt::format("{}{}", comma, names[k]);
  }
  const std::string lines = kernels::with_lines(operation.label, "", operation.source);
  const std::string_view type = kernel_type_name(result);
  const bool has_statements = kernels::text::has_statements(operation.source);
  const bool is_half = result == TypeId::float16 || result == TypeId::bfloat16;
  return fmt::format(
      "static __device__ {} quarry_operation({}) {{ {}{}{} }}\n"
      "__device__ {} operator()({}) const {{ return convert<{}>(quarry_operation({})); }}",
      !has_statements ? "auto"
      : is_half       ? "float"
                      : type,
      declared, has_statements ? "" : "return (", lines, has_statements ? "" : ");", type, declared,
      type, passed);
}

}  // namespace quarry::expr
