// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "backend/cuda/jit/digest.hpp"
#include "backend/cuda/jit/sharing.hpp"
#include "backend/cuda/jit/source_headers.hpp"
#include "backend/cuda/jit/texts.hpp"
#include "backend/source_kernel.hpp"
#include "kernels/operation_name.hpp"
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

/// g++ omits the namespace where it spells a type of quarry::kernels.
constexpr const char* short_names = "using namespace quarry::kernels;\n";

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
  /// The same for a function or reducer whose source is known at run time only.
  std::string define(const kernels::source_text& text) {
    const std::string space = text_identifier(text);
    if (defined_.insert(space).second) {
      // the name may be that of a function of the preamble, or of one that the members call
      text_ += fmt::format(
          "namespace {} {{\n{}\nstruct quarry_text : functions {{\n{}\n}};\n"
          "namespace quarry_name {{ struct {} : {}::quarry_text {{}}; }}\n}}\n",
          space, text.preamble, text.members, text.name, space);
    }
    return fmt::format("{}::quarry_name::{}", space, text.name);
  }
  const std::string& text() const { return text_; }
  /// With what the definitions use.
  std::string in_namespace() const {
    return fmt::format(
        "#include \"quarry/kernels/function.hpp\"\n"
        "namespace quarry::kernels {{\n{}}}\n",
        text_);
  }

 private:
  std::set<std::string> defined_;
  std::string text_;
};

using Names = std::set<std::string, std::less<>>;

std::span<const EmbeddedHeader> headers() {
  return {embedded_headers, static_cast<std::size_t>(embedded_header_count)};
}

/// The header of the family, or one that the kernel has for itself.
std::string header_of(kernels::family family, const Variant& variant) {
  static constexpr std::string_view families[] = {
#define QUARRY_FAMILY(name) #name,
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
  };
  std::string own = fmt::format("kernels/{}.cuh", variant.kernel());
  const auto is_own = [&](const EmbeddedHeader& header) { return header.name == own; };
  if (std::ranges::any_of(headers(), is_own)) return own;
  return fmt::format("kernels/{}.cuh", families[static_cast<std::size_t>(family)]);
}

/// Adds the identifiers that end in "_op": functors of operations.
void add_functors(Names& names, std::string_view text) {
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    for (end = begin; end < text.size() && is_name_character(text[end]);) ++end;
    const std::string_view name = text.substr(begin, end - begin);
    if (name.ends_with("_op")) names.emplace(name);
  }
}

std::string_view all_operations() {
  const auto is_table = [](const EmbeddedHeader& h) { return h.name == operations_header; };
  return std::ranges::find_if(headers(), is_table)->text;
}

/// The rows that the instantiation names, or one of the headers.
std::string operations_for(const std::string& instantiation) {
  static const Names& of_headers = *new const Names([] {
    Names names;
    for (const EmbeddedHeader& header : headers()) add_functors(names, header.text);
    return names;
  }());
  Names names = of_headers;
  add_functors(names, instantiation);
  return rows_of(all_operations(), names);
}

}  // namespace

std::string rows_of(std::string_view table, const Names& functors) {
  constexpr std::string_view row = "QUARRY_";
  std::string rows;
  for (auto begin = table.find(row); begin != table.npos;) {
    const auto end = table.find(fmt::format("\n{}", row), begin);
    const std::string_view line = table.substr(begin, end - begin);
    const auto name = line.find('(') + 1;
    if (functors.contains(fmt::format("{}_op", line.substr(name, line.find(',') - name)))) {
      rows.append(line).append("\n");
    }
    begin = end == table.npos ? end : end + 1;
  }
  return rows;
}

std::string user_identifier(std::string_view source) {
  return "quarry_user_" + Digest().add(source).hex();
}

std::string text_identifier(const kernels::source_text& text) {
  return "quarry_text_" +
         Digest().add_field(text.name).add_field(text.preamble).add_field(text.members).hex();
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
  std::string shown = name;  // with the names that people gave
  Definitions definitions;
  for (const kernels::user_function& user : users_of(program)) {
    std::string identifier;
    if (user.text < 0) {
      identifier = definitions.define(user);
    } else {
      const kernels::source_text& text = variant.texts()->of(user.text);
      identifier = definitions.define(text);
      shown = renamed(std::move(shown), user.type_name, text.name + "_function");
    }
    name = renamed(std::move(name), user.type_name, fmt::format("quarry::kernels::{}", identifier));
  }

  if (variant.sharing()) name = with_sharing(std::move(name), *variant.sharing());

  KernelSource result;
  result.instantiation = instantiation(name, variant);
  result.has_user_functions = !definitions.text().empty();
  if (!result.has_user_functions && name.find("complex<") == name.npos) {
    result.text = "#define QUARRY_REAL_NUMBERS_ONLY\n";
  }
  result.identifier = kernels::kernel_identifier(variant.kernel(), shown);
  const std::string shown_name =
      fmt::format("#undef {0}\n#define {0} {1}\n", variant.kernel(), result.identifier);
  result.text += fmt::format("{}#include \"{}\"\n{}", shown_name, header_of(program.kind, variant),
                             short_names);
  result.operations =
      result.has_user_functions ? all_operations() : operations_for(result.instantiation);
  if (result.has_user_functions) {
    result.text += definitions.in_namespace();
    result.text += shown_name;  // again: a preamble may have a macro of the kernel's name
  }
  result.may_read_files = may_read_files(definitions.text());
  return result;
}

}  // namespace quarry::backend::cuda

namespace quarry::backend {

DeviceFunction device_function(const kernels::user_function& function) {
  cuda::Definitions definitions;
  const std::string identifier = definitions.define(function);
  return {definitions.in_namespace() + cuda::short_names, "quarry::kernels::" + identifier};
}

}  // namespace quarry::backend
