// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/linker.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <quarry/base/error.hpp>

#include "backend/link.hpp"
#include "base/whole_file.hpp"
#include "runtime/compile.hpp"

namespace quarry {
namespace {

backend::LinkInputKind native_kind(LinkKind kind) {
  using Native = backend::LinkInputKind;
  switch (kind) {
    case LinkKind::cubin:
      return Native::cubin;
    case LinkKind::ptx:
      return Native::ptx;
    case LinkKind::ltoir:
      return Native::ltoir;
    case LinkKind::fatbin:
      return Native::fatbin;
    case LinkKind::object:
      return Native::object;
    case LinkKind::library:
      return Native::library;
    default:
      return Native::any;
  }
}

/// "ptx" of "folder.d/file.ptx", or nothing.
std::string_view extension_of(std::string_view filename) {
  const std::string_view name = filename.substr(filename.rfind('/') + 1);  // npos + 1 is 0
  const auto dot = name.rfind('.');
  return dot == name.npos ? std::string_view() : name.substr(dot + 1);
}

LinkKind kind_of_file(const std::string& filename) {
  struct Row {
    std::string_view extension;
    LinkKind kind;
  };
  static constexpr std::array rows{Row{"ptx", LinkKind::ptx},       Row{"cubin", LinkKind::cubin},
                                   Row{"fatbin", LinkKind::fatbin}, Row{"o", LinkKind::object},
                                   Row{"obj", LinkKind::object},    Row{"a", LinkKind::library},
                                   Row{"lib", LinkKind::library},   Row{"ltoir", LinkKind::ltoir}};
  const std::string_view extension = extension_of(filename);
  const auto row = std::ranges::find(rows, extension, &Row::extension);
  require<LogicError>(row != rows.end(), [&] {
    return extension.empty()
               ? fmt::format("{}: a file without an extension is linked as what? State its kind",
                             filename)
               : fmt::format("{}: files with the extension .{} are not linked", filename,
                             extension);
  });
  return row->kind;
}

bool is_ltoir(std::string_view code) { return code.starts_with("\xed\x43\x4e\x7f"); }

/// "sm_90", "sm_120", "sm_90a". nvJitLink ends the process for some others.
bool is_machine(std::string_view arch) {
  if (!arch.starts_with(runtime::machine)) return false;
  arch.remove_prefix(runtime::machine.size());
  if (arch.ends_with('a') || arch.ends_with('f')) arch.remove_suffix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return (arch.size() == 2 || arch.size() == 3) && arch[0] != '0' &&
         std::ranges::all_of(arch, is_digit);
}

}  // namespace

Linker::Linker(LinkOptions options) : options_(std::move(options)) {
  if (options_.arch.empty()) {
    options_.arch = runtime::architecture(options_.device, runtime::machine);
  }
  require<LogicError>(is_machine(options_.arch), [&] {
    return fmt::format("the linker's arch \"{}\" is none, as \"sm_90\" is one", options_.arch);
  });
}

Linker& Linker::add_ptx(std::string code, std::string name) {
  return add_data(LinkKind::ptx, std::move(code), std::move(name));
}
Linker& Linker::add_cubin(std::string code, std::string name) {
  return add_data(LinkKind::cubin, std::move(code), std::move(name));
}
Linker& Linker::add_fatbin(std::string code, std::string name) {
  return add_data(LinkKind::fatbin, std::move(code), std::move(name));
}
Linker& Linker::add_object(std::string code, std::string name) {
  return add_data(LinkKind::object, std::move(code), std::move(name));
}
Linker& Linker::add_library(std::string code, std::string name) {
  return add_data(LinkKind::library, std::move(code), std::move(name));
}
Linker& Linker::add_ltoir(std::string code, std::string name) {
  return add_data(LinkKind::ltoir, std::move(code), std::move(name));
}

Linker& Linker::add_data(LinkKind kind, std::string code, std::string name) {
  if (kind == LinkKind::ltoir || (kind == LinkKind::any && is_ltoir(code))) options_.lto = true;
  inputs_.push_back({kind, std::move(code), std::move(name)});
  return *this;
}

Linker& Linker::add_cu(const std::string& source, const CompileOptions& options) {
  CompileOptions own = options;
  if (own.arch.empty() && own.code.empty() && own.cc == std::pair(0, 0)) own.arch = options_.arch;
  backend::CompiledCode compiled = options_.lto ? runtime::compile_ltoir(source, own)
                                                : runtime::compile_relocatable(source, own);
  lowered_.merge(compiled.lowered);
  return add_data(options_.lto ? LinkKind::ltoir : LinkKind::any, std::move(compiled.code),
                  options.name);
}

Linker& Linker::add_file(const std::string& filename, std::optional<LinkKind> kind) {
  if (!kind && extension_of(filename) == "cu") {
    CompileOptions options;
    options.name = filename;
    return add_cu(whole_file("the source", filename), options);
  }
  const LinkKind found = kind ? *kind : kind_of_file(filename);
  return add_data(found, whole_file("the linker's input", filename), filename);
}

std::vector<std::string> Linker::words(bool is_ptx) const {
  std::vector<std::string> words{"-arch=" + options_.arch};
  const auto add_if = [&](bool wanted, const char* word) {
    if (wanted) words.emplace_back(word);
  };
  add_if(options_.lto || is_ptx, "-lto");
  add_if(is_ptx, "-ptx");
  add_if(options_.debug, "-g");
  add_if(options_.lineinfo, "-lineinfo");
  if (options_.optimization) words.push_back(fmt::format("-O{}", *options_.optimization));
  if (options_.max_registers > 0) {
    words.push_back(fmt::format("-maxrregcount={}", options_.max_registers));
  }
  words.insert(words.end(), options_.options.begin(), options_.options.end());
  return words;
}

std::string Linker::linked(bool is_ptx) {
  require<LogicError>(!inputs_.empty(), "the linker has no inputs");
  std::vector<backend::LinkInput> inputs;
  for (const Input& input : inputs_) {
    inputs.push_back({native_kind(input.kind), input.code, input.name});
  }
  info_.clear(), error_.clear();
  try {
    backend::LinkedCode code = backend::link(inputs, words(is_ptx));
    info_ = std::move(code.info);
    return std::move(code.code);
  } catch (const CompileError& e) {
    error_ = e.log();
    throw;
  }
}

std::string Linker::complete() { return linked(false); }
std::string Linker::get_linked_ptx() { return linked(true); }

std::pair<int, int> nvjitlink_version() { return backend::linker_version(); }

}  // namespace quarry
