// SPDX-License-Identifier: BSD-3-Clause
#include <nvrtc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <string_view>

#include "fake_driver/kernels/compiler.hpp"
#include "fake_driver/kernels/host_kernel.hpp"
#include "fake_driver/kernels/image.hpp"
#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/kernels/real_nvrtc.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

struct Program {
  std::string source;
  std::map<std::string, std::string> headers, lowered;
  std::vector<std::string> expressions;
  std::string log, image;
  bool is_ptx = false, is_ltoir = false;
};

constexpr int architectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

Program& program_of(nvrtcProgram handle) { return *reinterpret_cast<Program*>(handle); }

/// The names of Quarry's headers that the text includes.
std::vector<std::string> included(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto hash = line.find_first_not_of(" \t");
    if (hash == line.npos || line[hash] != '#' || line.find("include") == line.npos) continue;
    const auto begin = line.find_first_of("\"<") + 1;
    std::string name = line.substr(begin, line.find_first_of("\">", begin) - begin);
    if (name.starts_with("quarry/") || name.starts_with("kernels/")) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

/// The first header that the text, or a header that it includes, wants and nobody passed.
std::string missing_header(const Program& program, const std::string& text,
                           std::set<std::string>& seen) {
  for (const std::string& name : included(text)) {
    if (!seen.insert(name).second) continue;
    const auto found = program.headers.find(name);
    if (found == program.headers.end()) return name;
    std::string missing = missing_header(program, found->second, seen);
    if (!missing.empty()) return missing;
  }
  return {};
}

/// The first name with the prefix in the expression that the source does not define as a `kind`.
std::string missing(const Program& program, const std::string& expression, std::string_view prefix,
                    const std::string& kind) {
  for (auto at = expression.find(prefix); at != expression.npos;
       at = expression.find(prefix, at + 1)) {
    const auto end = expression.find_first_not_of("0123456789abcdef", at + prefix.size());
    std::string name = expression.substr(at, end == expression.npos ? end : end - at);
    if (program.source.find(kind + name + " ") == std::string::npos) return name;
  }
  return {};
}
/// The first user function in the expression that the source does not define.
std::string missing_user(const Program& program, const std::string& expression) {
  const std::string name = missing(program, expression, "quarry_user_", "struct ");
  return name.empty() ? missing(program, expression, "quarry_text_", "namespace ") : name;
}

/// Whether the header of the family is among these, or one that the kernel has for itself.
bool is_declared(const Kernel& kernel, const std::set<std::string>& headers) {
  const auto has = [&](std::string_view stem) {
    return headers.contains("kernels/" + std::string(stem) + ".cuh");
  };
  return has(kernel.family) || has(kernel.name);
}

/// What a compiler would complain about, or nothing.
std::string complaint(const Program& program) {
  {
    const Guard lock(state().mutex);
    if (compiler().fails) return compiler().log;
  }
  std::set<std::string> seen;
  if (const std::string name = missing_header(program, program.source, seen); !name.empty()) {
    return "catastrophic error: cannot open source file \"" + name + "\"";
  }
  if (is_source_of_program(program.source)) {
    return program.source.find("#error") == std::string::npos ? "" : "error: #error directive";
  }
  if (program.expressions.empty()) return "error: no kernel is asked for";
  for (const std::string& expression : program.expressions) {
    const auto name = parse_kernel(expression);
    if (!name) return "error: " + expression + " is no kernel";
    if (!is_declared(*name->kernel, seen)) {
      return "error: " + expression + " is not declared";
    }
    if (const std::string user = missing_user(program, expression); !user.empty()) {
      return "error: " + user + " is not declared";
    }
  }
  return {};
}

/// 0 when no option names an architecture.
int architecture_of(int count, const char* const* options, bool* is_ptx) {
  constexpr std::string_view option = "--gpu-architecture=";
  for (std::string_view text : std::span(options, static_cast<std::size_t>(count))) {
    if (!text.starts_with(option)) continue;
    text.remove_prefix(option.size());
    *is_ptx = text.starts_with("compute_");
    if (!*is_ptx && !text.starts_with("sm_")) return 0;
    const int number = std::atoi(text.substr(text.find('_') + 1).data());
    const bool is_known = std::ranges::find(architectures, number) != std::end(architectures);
    return is_known ? number : 0;
  }
  return 0;
}

nvrtcResult version(int* major, int* minor) {
  const Guard lock(state().mutex);
  *major = compiler().version.first;
  *minor = compiler().version.second;
  return NVRTC_SUCCESS;
}

nvrtcResult arch_count(int* count) {
  *count = static_cast<int>(std::size(architectures));
  return NVRTC_SUCCESS;
}

nvrtcResult archs(int* out) {
  std::ranges::copy(architectures, out);
  return NVRTC_SUCCESS;
}

const char* error_string(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS:
      return "NVRTC_SUCCESS";
    case NVRTC_ERROR_INVALID_INPUT:
      return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_OPTION:
      return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR unknown";
  }
}

nvrtcResult create(nvrtcProgram* out, const char* source, const char*, int headers,
                   const char* const* texts, const char* const* names) {
  if (!source || !*source || headers < 0) return NVRTC_ERROR_INVALID_INPUT;
  auto program = std::make_unique<Program>();
  program->source = source;
  for (int i = 0; i < headers; ++i) program->headers[names[i]] = texts[i];
  *out = reinterpret_cast<nvrtcProgram>(program.release());
  return NVRTC_SUCCESS;
}

nvrtcResult destroy(nvrtcProgram* handle) {
  if (!handle || !*handle) return NVRTC_ERROR_INVALID_PROGRAM;
  const std::unique_ptr<Program> ended(&program_of(*handle));
  *handle = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult add_name(nvrtcProgram handle, const char* expression) {
  program_of(handle).expressions.emplace_back(expression);
  return NVRTC_SUCCESS;
}

nvrtcResult compile(nvrtcProgram handle, int count, const char* const* options) {
  Program& program = program_of(handle);
  Image image;
  image.architecture = architecture_of(count, options, &image.is_ptx);
  if (image.architecture == 0) return NVRTC_ERROR_INVALID_OPTION;
  compiler().while_compiling();
  program.is_ptx = image.is_ptx;
  program.log = complaint(program);
  if (program.log.empty()) {
    program.log = complaint_of_nvrtc(program.source, program.headers, program.expressions,
                                     {options, static_cast<std::size_t>(count)});
  }
  {
    const Guard lock(state().mutex);
    ++state().statistics.compilations;
  }
  if (!program.log.empty()) return NVRTC_ERROR_COMPILATION;
  for (const std::string& expression : program.expressions) {
    program.lowered[expression] = mangled(expression);
    image.functions[mangled(expression)] = expression;
  }
  if (is_source_of_program(program.source)) {
    for (const std::string& name : kernels_in(program.source)) image.functions[name] = name;
    image.variables = variables_in(program.source);
  }
  const auto is_lto = [](std::string_view option) { return option == "-dlto"; };
  program.is_ltoir = std::any_of(options, options + count, is_lto);
  program.image = (program.is_ltoir ? std::string(ltoir_magic) : "") + write_image(image);
  return NVRTC_SUCCESS;
}

nvrtcResult log_size(nvrtcProgram handle, std::size_t* size) {
  *size = program_of(handle).log.size() + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult log(nvrtcProgram handle, char* out) {
  const std::string& text = program_of(handle).log;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVRTC_SUCCESS;
}

nvrtcResult lowered_name(nvrtcProgram handle, const char* expression, const char** name) {
  const auto& lowered = program_of(handle).lowered;
  const auto found = lowered.find(expression);
  if (found == lowered.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  *name = found->second.c_str();
  return NVRTC_SUCCESS;
}

/// With "-dlto".
nvrtcResult ltoir_size(nvrtcProgram handle, std::size_t* size) {
  const Program& program = program_of(handle);
  if (!program.is_ltoir) return NVRTC_ERROR_INVALID_INPUT;
  *size = program.image.size();
  return NVRTC_SUCCESS;
}
nvrtcResult ltoir(nvrtcProgram handle, char* out) {
  const Program& program = program_of(handle);
  if (!program.is_ltoir) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(out, program.image.data(), program.image.size());
  return NVRTC_SUCCESS;
}

template <bool IsPtx>
nvrtcResult code_size(nvrtcProgram handle, std::size_t* size) {
  const Program& program = program_of(handle);
  if (program.image.empty()) return NVRTC_ERROR_INVALID_PROGRAM;
  *size = program.is_ptx == IsPtx ? program.image.size() : 0;
  return NVRTC_SUCCESS;
}

template <bool IsPtx>
nvrtcResult code(nvrtcProgram handle, char* out) {
  const Program& program = program_of(handle);
  if (program.image.empty()) return NVRTC_ERROR_INVALID_PROGRAM;
  if (program.is_ptx == IsPtx) std::memcpy(out, program.image.data(), program.image.size());
  return NVRTC_SUCCESS;
}

}  // namespace

Compiler& compiler() {
  static Compiler& knobs = *new Compiler;
  return knobs;
}

void set_compiler(const Compiler& knobs) {
  const Guard lock(state().mutex);
  compiler() = knobs;
}

const backend::cuda::NvrtcTable& nvrtc_table() {
  static const backend::cuda::NvrtcTable table{.Version = version,
                                               .GetNumSupportedArchs = arch_count,
                                               .GetSupportedArchs = archs,
                                               .GetErrorString = error_string,
                                               .CreateProgram = create,
                                               .DestroyProgram = destroy,
                                               .AddNameExpression = add_name,
                                               .CompileProgram = compile,
                                               .GetProgramLogSize = log_size,
                                               .GetProgramLog = log,
                                               .GetLoweredName = lowered_name,
                                               .GetCUBINSize = code_size<false>,
                                               .GetCUBIN = code<false>,
                                               .GetPTXSize = code_size<true>,
                                               .GetPTX = code<true>,
                                               .GetLTOIRSize = ltoir_size,
                                               .GetLTOIR = ltoir};
  return table;
}

}  // namespace quarry::fake
