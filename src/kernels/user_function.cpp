// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/user_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include <quarry/base/error.hpp>

namespace quarry::kernels {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const registered_function*> functions;
};
Registry& registry() {
  static auto& all = *new Registry;  // outlives every function
  return all;
}

constexpr std::string_view suffix = "_function", scope = "::";

/// "a::(anonymous namespace)::f_function" -> "a::(anonymous namespace)::"
std::string_view scope_of(std::string_view type_name) {
  const auto at = type_name.rfind(scope);
  return at == type_name.npos ? std::string_view() : type_name.substr(0, at + scope.size());
}
std::string_view outer(std::string_view inner) {
  return scope_of(inner.substr(0, inner.size() - scope.size()));
}

/// The function of this type that was defined before `caller`; of several (in unnamed namespaces)
/// the one in the same file.
const registered_function* find(const std::string& type_name, const registered_function& caller) {
  const registered_function* found = nullptr;
  for (const registered_function* candidate : registry().functions) {
    if (candidate == &caller) break;
    if (candidate->function.type_name != type_name) continue;
    if (!found || candidate->file == std::string_view(caller.file)) found = candidate;
  }
  return found;
}

/// The function that `name` refers to in the body of `caller`: that of the innermost namespace that
/// has one.
const registered_function* resolve(const registered_function& caller, std::string_view name) {
  for (std::string_view at = scope_of(caller.function.type_name);; at = outer(at)) {
    if (const auto* found = find(fmt::format("{}{}{}", at, name, suffix), caller)) return found;
    if (at.empty()) return nullptr;
  }
}

const registered_function* find(const user_function& function) {
  const auto& all = registry().functions;
  const auto found = std::ranges::find_if(all, [&](const registered_function* candidate) {
    return candidate->function.type_name == function.type_name &&
           candidate->function.source == std::string_view(function.source);
  });
  return found == all.end() ? nullptr : *found;
}

[[noreturn]] void throw_unknown(const registered_function& caller, std::string_view name) {
  throw CompileError(
      fmt::format("{} calls {}, which is neither a function of Quarry's nor a QUARRY_FUNCTION of "
                  "its namespace or of one round it",
                  caller.function.type_name, name),
      caller.body, {}, {});
}

}  // namespace

registered_function::registered_function(const user_function& function, const char* parameters,
                                         const char* body, const char* file)
    : function(function), parameters(parameters), body(body), file(file) {
  const std::lock_guard lock(registry().mutex);
  registry().functions.push_back(this);
}

registered_function::~registered_function() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().functions, this);
}

std::vector<user_call> calls_of(const user_function& function) {
  const std::lock_guard lock(registry().mutex);
  std::vector<user_call> calls;
  const registered_function* const caller = find(function);
  if (!caller) return calls;
  text::reader names(caller->parameters, caller->body);
  for (auto use = names.next(); !use.name.empty(); use = names.next()) {
    const auto is_same = [&](const user_call& call) { return call.name == use.name; };
    if (std::ranges::any_of(calls, is_same)) continue;
    const registered_function* const callee = resolve(*caller, use.name);
    if (!callee) throw_unknown(*caller, use.name);
    calls.push_back({std::string(use.name), callee->function});
  }
  return calls;
}

void require_known_calls(const user_function& function) { calls_of(function); }

}  // namespace quarry::kernels
