// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "backend/cuda/jit/digest.hpp"
#include "kernels/user_function.hpp"

namespace quarry::backend::cuda {
namespace {

using kernels::text::is_name_character;

bool is_whole(std::string_view name, std::size_t begin, std::size_t end) {
  const char before = begin > 0 ? name[begin - 1] : ' ',
             after = end < name.size() ? name[end] : ' ';
  return !is_name_character(before) && before != ':' && !is_name_character(after) && after != ':' &&
         after != '<';
}

std::vector<kernels::user_function> users_of(const kernels::program& program) {
  std::vector<kernels::user_function> users;
  program.users(&users, [](void* state, const kernels::user_function& user) {
    auto& found = *static_cast<std::vector<kernels::user_function>*>(state);
    const auto same = [&](const auto& other) { return other.type_name == user.type_name; };
    if (std::ranges::none_of(found, same)) found.push_back(user);
  });
  return users;
}

std::string instantiation(std::string_view program, const Variant& variant) {
  std::string text = fmt::format("quarry::kernels::{}<{}", variant.kernel(), program);
  for (std::size_t k = 0; k < variant.count(); ++k)
    text += fmt::format(", {}", variant.argument(k));
  return text + '>';
}

/// User functions and those that they call, each once, the called ones first.
class Definitions {
 public:
  /// The identifier of `user`, which is defined if it is not yet.
  std::string define(const kernels::user_function& user) {
    std::string members;
    for (const kernels::user_call& call : kernels::calls_of(user)) {
      members += fmt::format(
          "template <class... A>\nstatic __device__ auto {}(A... a) {{ return {}{{}}(a...); }}\n",
          call.name, define(call.function));
    }
    members += user.source;
    std::string identifier = user_identifier(members);
    if (defined_.insert(identifier).second) {
      text_ += fmt::format("struct {} : functions {{\n{}\n}};\n", identifier, members);
    }
    return identifier;
  }
  const std::string& text() const { return text_; }

 private:
  std::set<std::string> defined_;
  std::string text_;
};

const char* header_of(kernels::family family) {
  static constexpr const char* headers[] = {
#define QUARRY_FAMILY(name) "kernels/" #name ".cuh",
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
  };
  return headers[static_cast<std::size_t>(family)];
}

}  // namespace

std::string user_identifier(std::string_view source) {
  return "quarry_user_" + Digest().add(source).hex();
}

std::string renamed(std::string name, std::string_view from, std::string_view to) {
  for (auto at = name.find(from); at != name.npos; at = name.find(from, at)) {
    if (is_whole(name, at, at + from.size())) {
      name.replace(at, from.size(), to);
      at += to.size();
    } else {
      at += 1;
    }
  }
  return name;
}

KernelSource kernel_source(const kernels::program& program, const Variant& variant) {
  std::string name(program.name);
  Definitions definitions;
  for (const kernels::user_function& user : users_of(program)) {
    const std::string identifier = definitions.define(user);
    name = renamed(std::move(name), user.type_name, fmt::format("quarry::kernels::{}", identifier));
  }

  KernelSource result;
  // g++ omits the namespace where it spells a type of quarry::kernels
  result.text =
      fmt::format("#include \"{}\"\nusing namespace quarry::kernels;\n", header_of(program.kind));
  result.has_user_functions = !definitions.text().empty();
  if (result.has_user_functions) {
    result.text += fmt::format(
        "#include \"quarry/kernels/function.hpp\"\n"
        "namespace quarry::kernels {{\n{}}}\n",
        definitions.text());
  }
  result.instantiation = instantiation(name, variant);
  return result;
}

}  // namespace quarry::backend::cuda
