// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <sstream>
#include <utility>

#include "backend/backend.hpp"
#include "backend/link.hpp"
#include "base/environment.hpp"
#include "runtime/kept_compilation.hpp"

namespace quarry {
namespace {

using runtime::machine;
using runtime::virtual_machine;

/// What NVRTC compiles for, and the machine for which the linker compiles that, if it is another.
struct Target {
  std::string arch, linked_for = {};
};

bool is_virtual(const std::string& arch) { return arch.starts_with(virtual_machine); }

/// "90a" of "sm_90a".
std::string number_of(const std::string& arch) { return arch.substr(arch.find('_') + 1); }

void require_architecture(const char* what, const std::string& arch) {
  require<LogicError>(arch.starts_with(machine) || is_virtual(arch), [&] {
    return fmt::format("the {} \"{}\" does not begin with \"{}\" or \"{}\"", what, arch, machine,
                       virtual_machine);
  });
}

/// As nvcc combines -arch and -code.
Target combined(const std::string& arch, const std::string& code) {
  require_architecture("code", code);
  if (arch.empty() || arch == code) return {code};
  require_architecture("arch", arch);
  if (number_of(arch) == number_of(code)) return {code};
  require<LogicError>(!is_virtual(code), [&] {
    return fmt::format("PTX for \"{}\" is not code of the arch \"{}\"", code, arch);
  });
  return {std::string(virtual_machine) + number_of(arch), code};
}

Target target_of(const CompileOptions& options, std::string_view kind) {
  if (!options.code.empty()) return combined(options.arch, options.code);
  if (!options.arch.empty()) return {options.arch};
  const auto [major, minor] = options.cc;
  if (options.cc != std::pair(0, 0)) return {fmt::format("{}{}{}", kind, major, minor)};
  if (kind == virtual_machine && !options.device) {
    if (const auto number = environment::ptx_architecture()) return {std::string(kind) + *number};
  }
  return {runtime::architecture(options.device, kind)};
}

backend::SourceText text_of(const std::string& source, const CompileOptions& options,
                            const std::string& arch) {
  backend::SourceText text{source, {"--gpu-architecture=" + arch}, options.names, options.name};
  const auto states_language = [](const std::string& option) {
    return option.starts_with("-std=") || option.starts_with("--std=");
  };
  const auto add_if = [&](bool wanted, const char* option) {
    if (wanted) text.options.emplace_back(option);
  };
  add_if(std::ranges::none_of(options.options, states_language), "-std=c++20");
  add_if(options.fastmath, "--use_fast_math");
  add_if(options.debug, "--device-debug");
  add_if(options.debug && options.opt.value_or(false), "--dopt=on");
  add_if(!options.debug && !options.opt.value_or(true), "--ptxas-options=-O0");
  add_if(options.lineinfo, "--generate-line-info");
  add_if(options.relocatable, "--relocatable-device-code=true");
  for (const std::string& folder : options.include_dirs) {
    text.options.push_back("--include-path=" + folder);
  }
  text.options.insert(text.options.end(), options.options.begin(), options.options.end());
  return text;
}

/// Whether the code may depend on files: those of the source, and of options as
/// "--pre-include=...". Files in an include folder may have the names of the library's headers.
bool may_include(const backend::SourceText& source, const CompileOptions& options) {
  const auto says_include = [](const std::string& text) {
    return text.find("include") != text.npos;
  };
  return !backend::includes_only_embedded(source.text) ||
         (says_include(source.text) && !options.include_dirs.empty()) ||
         std::ranges::any_of(options.options, says_include);
}

backend::SourceCache cache_for(const backend::SourceText& source, const CompileOptions& options) {
  const bool is_kept = options.keep || !options.keep_dir.empty();  // with what the compiler says
  return {options.cache && !is_kept && !may_include(source, options), options.cache_dir};
}

backend::CompiledCode compiled(const backend::SourceText& source, const CompileOptions& options,
                               const runtime::KeptCompilation& kept) {
  try {
    return backend::compile_source(source, cache_for(source, options));
  } catch (const CompileError& e) {
    kept.add("log", e.log());
    throw;
  }
}

/// PTX to machine code of a later machine.
void link_for(backend::CompiledCode& code, const std::string& arch, const CompileOptions& options,
              const std::string& name) {
  std::vector<std::string> given{"-arch=" + arch};
  if (options.debug) given.emplace_back("-g");
  if (options.lineinfo) given.emplace_back("-lineinfo");
  if (!options.opt.value_or(true)) given.emplace_back("-O0");
  code.code = backend::link({{backend::LinkInputKind::ptx, code.code, name}}, given).code;
  code.kind = backend::CodeKind::cubin;
}

/// Of files.
const char* ending_of(backend::CodeKind kind) {
  switch (kind) {
    case backend::CodeKind::ptx:
      return "ptx";
    case backend::CodeKind::ltoir:
      return "ltoir";
    default:
      return "cubin";
  }
}

runtime::Compiled compile_text(const backend::SourceText& source, const CompileOptions& options,
                               const Target& target) {
  const runtime::KeptCompilation kept(source, options);
  backend::CompiledCode code = compiled(source, options, kept);
  if (!target.linked_for.empty()) {
    kept.add("ptx", code.code);
    link_for(code, target.linked_for, options, source.file);
  }
  kept.add(ending_of(code.kind), code.code);
  kept.add("log", code.log);
  return {std::move(code), kept.folder()};
}

runtime::Compiled compile_as(const std::string& source, const CompileOptions& options,
                             std::string_view kind) {
  const Target target = target_of(options, kind);
  return compile_text(text_of(source, options, target.arch), options, target);
}

void require_kind(const char* call, const CompileOptions& options, std::string_view kind) {
  const bool has_code = !options.code.empty();
  const std::string& given = has_code ? options.code : options.arch;
  require<LogicError>(given.empty() || given.starts_with(kind), [&] {
    return fmt::format("{}: the {} \"{}\" does not begin with \"{}\"", call,
                       has_code ? "code" : "arch", given, kind);
  });
}

std::vector<std::string> options_of_environment() {
  std::istringstream words(environment::text("QUARRY_NVRTC_FLAGS").value_or(""));
  std::vector<std::string> options;
  for (std::string word; words >> word;) options.push_back(word);
  return options;
}

struct Defaults {
  std::mutex mutex;
  std::vector<std::string> options = options_of_environment();
};
Defaults& defaults() {
  static auto& all = *new Defaults;
  return all;
}

}  // namespace

std::string runtime::architecture(const std::optional<Device>& device, std::string_view kind) {
  const Device on = device ? *device : Device();
  require<LogicError>(!on.is_cpu(),
                      "kernels are compiled for GPUs, and this is the CPU device: state an arch");
  std::string found = backend::architecture_of(on.compute_capability());
  return kind == machine || is_virtual(found) ? found
                                              : std::string(virtual_machine) + number_of(found);
}

runtime::Compiled runtime::compile(const std::string& source, const CompileOptions& options) {
  return compile_as(source, options, machine);
}

runtime::Compiled runtime::compile_anew(const std::string& source, const CompileOptions& options) {
  const Target target = target_of(options, machine);
  const backend::SourceText text = text_of(source, options, target.arch);
  backend::forget_source(text, cache_for(text, options));
  return compile_text(text, options, target);
}

backend::CompiledCode runtime::compile_relocatable(const std::string& source,
                                                   const CompileOptions& options) {
  CompileOptions own = options;
  own.relocatable = true;
  return compile_as(source, own, machine).code;
}

backend::CompiledCode runtime::compile_ltoir(const std::string& source,
                                             const CompileOptions& options) {
  const Target target = target_of(options, virtual_machine);
  backend::SourceText text = text_of(source, options, target.arch);
  text.options.emplace_back("-dlto");
  return compile_text(text, options, {target.arch}).code;
}

std::vector<std::string> default_compile_options() {
  const std::lock_guard lock(defaults().mutex);
  return defaults().options;
}

std::vector<std::string> set_default_compile_options(std::vector<std::string> options) {
  const std::lock_guard lock(defaults().mutex);
  return std::exchange(defaults().options, std::move(options));
}

std::string compile_ptx(const std::string& source, const CompileOptions& options) {
  require_kind("compile_ptx", options, virtual_machine);
  return compile_as(source, options, virtual_machine).code.code;
}

std::string compile_cubin(const std::string& source, const CompileOptions& options) {
  require_kind("compile_cubin", options, machine);
  return compile_as(source, options, machine).code.code;
}

std::string compile_ltoir(const std::string& source, const CompileOptions& options) {
  return runtime::compile_ltoir(source, options).code;
}

std::string compile_ptx_for_current_device(const std::string& source,
                                           const CompileOptions& options) {
  CompileOptions own = options;
  own.arch.clear(), own.code.clear();
  own.cc = {0, 0};
  own.device = Device();
  return compile_ptx(source, own);
}

}  // namespace quarry
