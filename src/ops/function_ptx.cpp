// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/user_function.hpp>
#include <quarry/ops/function_ptx.hpp>

#include <fmt/format.h>

#include "backend/source_kernel.hpp"

namespace quarry::detail {
namespace {

/// "saxpy" of the type "user::saxpy_function".
std::string_view name_of(std::string_view type) {
  const auto scope = type.rfind("::");
  if (scope != type.npos) type.remove_prefix(scope + 2);
  return type.substr(0, type.rfind("_function"));
}

}  // namespace

std::string function_ptx(const FunctionCall& call, const CompileOptions& options) {
  const kernels::user_function user{call.type, call.source};
  const backend::DeviceFunction defined = backend::device_function(user);
  std::string parameters, arguments;
  for (std::size_t k = 0; k < call.arguments.size(); ++k) {
    const char* const comma = k == 0 ? "" : ", ";
    parameters += fmt::format("{}{} a{}", comma, call.arguments[k], k);
    arguments += fmt::format("{}a{}", comma, k);
  }
  CompileOptions relocatable = options;
  relocatable.relocatable = true;
  return compile_ptx(
      fmt::format("{}extern \"C\" __device__ {} {}({}) {{ return {}{{}}({}); }}\n", defined.source,
                  call.result, name_of(call.type), parameters, defined.name, arguments),
      relocatable);
}

}  // namespace quarry::detail
