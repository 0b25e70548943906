// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <nvrtc.h>

#include <string>
#include <vector>

#include "backend/cuda/jit/kernel_source.hpp"

namespace quarry::backend::cuda {

enum class CodeKind { cubin, ptx, ltoir };

/// One source text that NVRTC compiles. Failures of NVRTC itself throw RuntimeError.
class NvrtcProgram {
 public:
  /// `file` is the name that messages have.
  NvrtcProgram(const std::string& text, const char* file,
               const std::vector<EmbeddedHeader>& headers = {});
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram();

  /// Wants instantiations of these name expressions.
  nvrtcResult compile(const std::vector<std::string>& names,
                      const std::vector<std::string>& options);
  std::string log() const;  ///< without newlines at its end
  std::string code(CodeKind kind) const;
  /// The name in the code of a name expression.
  std::string lowered(const std::string& name) const;

 private:
  nvrtcProgram program_ = nullptr;
};

/// Throws what a failed compilation means: CompileError "`what` did not compile: ...", or
/// BackendUnavailable if NVRTC lacks a part of itself.
[[noreturn]] void raise_not_compiled(nvrtcResult result, const std::string& what, std::string log,
                                     const std::string& source,
                                     const std::vector<std::string>& options);

}  // namespace quarry::backend::cuda
