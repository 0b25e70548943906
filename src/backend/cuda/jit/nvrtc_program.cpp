// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvrtc_program.hpp"

#include <fmt/format.h>

#include <utility>

#include <quarry/base/error.hpp>

#include "backend/cuda/jit/nvrtc.hpp"

namespace quarry::backend::cuda {
namespace {

void require(nvrtcResult result) {
  if (result != NVRTC_SUCCESS) {
    throw RuntimeError(fmt::format("NVRTC failed: {}", nvrtc().GetErrorString(result)));
  }
}

std::string text(nvrtcProgram program, nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                 nvrtcResult (*get)(nvrtcProgram, char*)) {
  std::size_t size = 0;
  require(size_of(program, &size));
  std::string result(size, '\0');
  require(get(program, result.data()));
  return result;
}

}  // namespace

NvrtcProgram::NvrtcProgram(const std::string& text, const char* file,
                           const std::vector<EmbeddedHeader>& headers) {
  std::vector<const char*> names, texts;
  for (const EmbeddedHeader& header : headers) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  require(nvrtc().CreateProgram(&program_, text.c_str(), file, static_cast<int>(headers.size()),
                                texts.data(), names.data()));
}

NvrtcProgram::~NvrtcProgram() { nvrtc().DestroyProgram(&program_); }

namespace {

/// NVRTC has a cache of its own from CUDA 12.9 on, for which it initialises the driver: a process
/// that only compiles could not be forked any more, and the library caches what is compiled itself.
const char* without_cache() { return nvrtc_version() >= std::pair(12, 9) ? "--no-cache" : nullptr; }

}  // namespace

nvrtcResult NvrtcProgram::compile(const std::vector<std::string>& names,
                                  const std::vector<std::string>& options) {
  for (const std::string& name : names) require(nvrtc().AddNameExpression(program_, name.c_str()));
  std::vector<const char*> pointers;
  pointers.reserve(options.size() + 1);
  for (const std::string& option : options) pointers.push_back(option.c_str());
  if (const char* const option = without_cache()) pointers.push_back(option);
  return nvrtc().CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
}

std::string NvrtcProgram::log() const {
  std::string log = text(program_, nvrtc().GetProgramLogSize, nvrtc().GetProgramLog);
  const auto end = log.find_last_not_of(std::string("\0\n", 2));
  log.resize(end == log.npos ? 0 : end + 1);
  return log;
}

std::string NvrtcProgram::code(CodeKind kind) const {
  switch (kind) {
    case CodeKind::ptx:
      return text(program_, nvrtc().GetPTXSize, nvrtc().GetPTX);
    case CodeKind::ltoir:
      return text(program_, nvrtc().GetLTOIRSize, nvrtc().GetLTOIR);
    default:
      return text(program_, nvrtc().GetCUBINSize, nvrtc().GetCUBIN);
  }
}

std::string NvrtcProgram::lowered(const std::string& name) const {
  const char* result = nullptr;
  require(nvrtc().GetLoweredName(program_, name.c_str(), &result));
  return result;
}

void raise_not_compiled(nvrtcResult result, const std::string& what, std::string log,
                        const std::string& source, const std::vector<std::string>& options) {
  const std::string reason = nvrtc().GetErrorString(result);
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
    throw BackendUnavailable(
        fmt::format("NVRTC cannot use its built-ins library: {}: {}", reason, log));
  }
  throw CompileError(fmt::format("{} did not compile: {}", what, reason), source, std::move(log),
                     fmt::format("{}", fmt::join(options, " ")));
}

}  // namespace quarry::backend::cuda
