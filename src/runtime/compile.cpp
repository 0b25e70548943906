// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "backend/backend.hpp"
#include "base/environment.hpp"

namespace quarry {
namespace {

constexpr const char *machine = "sm_", *virtual_machine = "compute_";

/// The architecture of the options' device, for code of one kind.
std::string architecture(const CompileOptions& options, const char* kind) {
  const Device device = options.device.value_or(Device());
  require<LogicError>(!device.is_cpu(),
                      "kernels are compiled for GPUs, and this is the CPU device: state an arch");
  std::string found = backend::architecture_of(device.compute_capability());
  const bool is_ptx = found.starts_with(virtual_machine);
  if (std::string_view(kind) == machine || is_ptx) return found;
  return virtual_machine + found.substr(std::string_view(machine).size());
}

backend::SourceText text_of(const std::string& source, const CompileOptions& options,
                            const std::string& arch) {
  backend::SourceText text{source, {"--gpu-architecture=" + arch}, options.names};
  const auto states_language = [](const std::string& option) {
    return option.starts_with("-std=") || option.starts_with("--std=");
  };
  if (std::ranges::none_of(options.options, states_language)) text.options.push_back("-std=c++20");
  if (options.fastmath) text.options.push_back("--use_fast_math");
  if (options.debug) text.options.push_back("--device-debug");
  if (options.lineinfo) text.options.push_back("--generate-line-info");
  for (const std::string& folder : options.include_dirs) {
    text.options.push_back("--include-path=" + folder);
  }
  text.options.insert(text.options.end(), options.options.begin(), options.options.end());
  return text;
}

/// Without the lines that include headers of the library.
std::string without_own_headers(std::string source) {
  for (const std::string_view header : backend::program_headers) {
    const std::string line = fmt::format("#include <{}>", header);
    for (auto at = source.find(line); at != source.npos; at = source.find(line, at)) {
      source.replace(at, line.size(), " ");
    }
  }
  return source;
}

/// Whether the code may depend on files ("#  include", "--pre-include=...").
bool may_include(const std::string& source, const CompileOptions& options) {
  const auto says_include = [](const std::string& text) {
    return text.find("include") != text.npos;
  };
  return says_include(without_own_headers(source)) ||
         std::ranges::any_of(options.options, says_include);
}

backend::CompiledCode compile_as(const std::string& source, const CompileOptions& options,
                                 const char* kind) {
  const std::string arch = options.arch.empty() ? architecture(options, kind) : options.arch;
  return backend::compile_source(text_of(source, options, arch),
                                 options.cache && !may_include(source, options));
}

void require_kind(const char* call, const CompileOptions& options, const char* kind) {
  require<LogicError>(options.arch.empty() || options.arch.starts_with(kind), [&] {
    return fmt::format("{}: the arch \"{}\" does not begin with \"{}\"", call, options.arch, kind);
  });
}

}  // namespace

backend::CompiledCode runtime::compile(const std::string& source, const CompileOptions& options) {
  return compile_as(source, options, machine);
}

std::vector<std::string> default_compile_options() {
  std::istringstream words(environment::text("QUARRY_NVRTC_FLAGS").value_or(""));
  std::vector<std::string> options;
  for (std::string word; words >> word;) options.push_back(word);
  return options;
}

std::string compile_ptx(const std::string& source, const CompileOptions& options) {
  require_kind("compile_ptx", options, virtual_machine);
  return compile_as(source, options, virtual_machine).code;
}

std::string compile_cubin(const std::string& source, const CompileOptions& options) {
  require_kind("compile_cubin", options, machine);
  return compile_as(source, options, machine).code;
}

std::string compile_ptx_for_current_device(const std::string& source,
                                           const CompileOptions& options) {
  CompileOptions own = options;
  own.arch.clear();
  own.device.reset();
  return compile_ptx(source, own);
}

}  // namespace quarry
