// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quarry/base/kernel_function.hpp>

/// Kernels that a program brings as source or as machine code: compiling, loading, launching.
namespace quarry::backend {

using Module = void*;    ///< loaded on one device
using Function = void*;  ///< of a module

/// What NVRTC gets.
struct SourceText {
  std::string text;
  std::vector<std::string> options;  ///< with the architecture
  std::vector<std::string> names;    ///< name expressions
};

/// Headers of Quarry that every source finds without a file: the library has them.
inline constexpr std::string_view program_headers[] = {"quarry/textures.cuh"};

/// What NVRTC makes of it: machine code, or PTX for an architecture "compute_...".
struct CompiledCode {
  std::string code;
  std::string log;                             ///< warnings
  std::map<std::string, std::string> lowered;  ///< name expressions to names in the code
};

/// Throws CompileError with the source, NVRTC's log and the options, BackendUnavailable without
/// NVRTC. Uses no GPU. `cached`: the code may come from the cache on disk.
CompiledCode compile_source(const SourceText& source, bool cached);

/// "sm_90", or "compute_90" for a GPU that is newer than NVRTC. Throws BackendUnavailable.
std::string architecture_of(std::pair<int, int> compute_capability);

/// A cubin, a fatbin or PTX, and what the driver is to do with it.
struct ModuleImage {
  std::string bytes;
  std::vector<std::pair<JitOption, unsigned>> options = {};
};
/// What the driver wrote while it loaded an image.
struct LoadLog {
  std::string info, error;
};

/// A variable of a module.
struct GlobalVariable {
  void* address = nullptr;  ///< nullptr if there is none of this name
  std::size_t bytes = 0;
};

struct LaunchShape {
  Dim3 grid, block;
  std::size_t shared = 0;  ///< bytes of dynamic shared memory of a block
  bool cooperative = false;
};

}  // namespace quarry::backend
