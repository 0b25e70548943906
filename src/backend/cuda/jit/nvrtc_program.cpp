// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvrtc_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <quarry/base/error.hpp>

namespace quarry::backend::cuda {
namespace {

/// Whether NVRTC's optimiser stays off, as far as is known: for code for debuggers, for what is
/// compiled in the shortest time, and perhaps by what its parts are told. It takes blanks before an
/// option.
bool leaves_traces(const std::vector<std::string>& options) {
  constexpr std::string_view leaving[] = {"-G", "--device-debug", "-Ofc", "--Ofast-compile",
                                          "-Xnvvm"};
  return std::ranges::any_of(options, [&](std::string_view option) {
    option.remove_prefix(std::min(option.find_first_not_of(" \t\r\n\v\f"), option.size()));
    return std::ranges::any_of(leaving, [&](auto name) { return option.starts_with(name); });
  });
}

/// NVRTC has a cache of its own from CUDA 12.9 on, for which it initialises the driver: a process
/// that only compiles could not be forked any more, and the library caches what is compiled itself.
const char* without_cache(const NvrtcTable& nvrtc) {
  return version_of(nvrtc) >= std::pair(12, 9) ? "--no-cache" : nullptr;
}

}  // namespace

NvrtcProgram::NvrtcProgram(const std::string& text, const char* file,
                           std::vector<std::string> options,
                           const std::vector<EmbeddedHeader>& headers)
    : text_(text), options_(std::move(options)), nvrtc_(leaves_traces(options_)) {
  std::vector<const char*> names, texts;
  for (const EmbeddedHeader& header : headers) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  require(nvrtc_->CreateProgram(&program_, text_.c_str(), file, static_cast<int>(headers.size()),
                                texts.data(), names.data()));
}

NvrtcProgram::~NvrtcProgram() { nvrtc_->DestroyProgram(&program_); }

void NvrtcProgram::require(nvrtcResult result) const {
  if (result != NVRTC_SUCCESS) {
    throw RuntimeError(fmt::format("NVRTC failed: {}", nvrtc_->GetErrorString(result)));
  }
}

std::string NvrtcProgram::read(Size* size_of, Read* get) const {
  std::size_t size = 0;
  require(size_of(program_, &size));
  std::string result(size, '\0');
  require(get(program_, result.data()));
  return result;
}

void NvrtcProgram::compile(const std::vector<std::string>& names, const std::string& what) {
  for (const std::string& name : names) {
    require(nvrtc_->AddNameExpression(program_, name.c_str()));
  }
  std::vector<const char*> pointers;
  pointers.reserve(options_.size() + 1);
  for (const std::string& option : options_) pointers.push_back(option.c_str());
  if (const char* const option = without_cache(*nvrtc_)) pointers.push_back(option);
  const nvrtcResult result =
      nvrtc_->CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  if (result == NVRTC_SUCCESS) return;
  const std::string reason = nvrtc_->GetErrorString(result);
  if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
    throw BackendUnavailable(
        fmt::format("NVRTC cannot use its built-ins library: {}: {}", reason, log()));
  }
  throw CompileError(fmt::format("{} did not compile: {}", what, reason), text_, log(),
                     fmt::format("{}", fmt::join(options_, " ")));
}

std::string NvrtcProgram::log() const {
  std::string log = read(nvrtc_->GetProgramLogSize, nvrtc_->GetProgramLog);
  const auto end = log.find_last_not_of(std::string("\0\n", 2));
  log.resize(end == log.npos ? 0 : end + 1);
  return log;
}

std::string NvrtcProgram::code(CodeKind kind) const {
  switch (kind) {
    case CodeKind::ptx:
      return read(nvrtc_->GetPTXSize, nvrtc_->GetPTX);
    case CodeKind::ltoir:
      return read(nvrtc_->GetLTOIRSize, nvrtc_->GetLTOIR);
    default:
      return read(nvrtc_->GetCUBINSize, nvrtc_->GetCUBIN);
  }
}

std::string NvrtcProgram::lowered(const std::string& name) const {
  const char* result = nullptr;
  require(nvrtc_->GetLoweredName(program_, name.c_str(), &result));
  return result;
}

}  // namespace quarry::backend::cuda
