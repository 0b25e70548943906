// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <nvrtc.h>

#include <string>
#include <vector>

#include "backend/cuda/jit/kernel_source.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "backend/source_kernel.hpp"

namespace quarry::backend::cuda {

/// One source text that NVRTC compiles with these options. Failures of NVRTC itself throw
/// RuntimeError.
class NvrtcProgram {
 public:
  /// `file` is the name that messages have. Throws what NvrtcUse does.
  NvrtcProgram(const std::string& text, const char* file, std::vector<std::string> options,
               const std::vector<EmbeddedHeader>& headers = {});
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram();

  /// Wants instantiations of these name expressions. Throws what a failed compilation means:
  /// CompileError "`what` did not compile: ...", or BackendUnavailable if NVRTC lacks a part of
  /// itself.
  void compile(const std::vector<std::string>& names, const std::string& what);
  std::string log() const;  ///< without newlines at its end
  std::string code(CodeKind kind) const;
  /// The name in the code of a name expression.
  std::string lowered(const std::string& name) const;

 private:
  using Read = nvrtcResult(nvrtcProgram, char*);
  using Size = nvrtcResult(nvrtcProgram, std::size_t*);
  void require(nvrtcResult result) const;
  std::string read(Size* size_of, Read* get) const;

  const std::string text_;
  const std::vector<std::string> options_;
  const NvrtcUse nvrtc_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace quarry::backend::cuda
