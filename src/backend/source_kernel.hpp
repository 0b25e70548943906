// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <quarry/base/kernel_function.hpp>
#include <quarry/kernels/user_function.hpp>

/// Kernels that a program brings as source or as machine code: compiling, loading, launching.
namespace quarry::backend {

using Module = void*;    ///< loaded on one device
using Function = void*;  ///< of a module

/// What NVRTC gets.
struct SourceText {
  std::string text;
  std::vector<std::string> options;  ///< with the architecture
  std::vector<std::string> names;    ///< name expressions
  std::string file = "source.cu";    ///< its name in messages
};

/// Where compiled source is kept on disk.
struct SourceCache {
  bool is_used = false;
  std::string directory = {};  ///< absolute; that of the process if empty
};

enum class CodeKind { cubin, ptx, ltoir };

/// What NVRTC makes of it: machine code, PTX for an architecture "compute_...", LTO-IR with
/// "-dlto" or "--dlink-time-opt".
struct CompiledCode {
  CodeKind kind = CodeKind::cubin;
  std::string code = {};
  std::string log = {};                             ///< warnings
  std::map<std::string, std::string> lowered = {};  ///< name expressions to names in the code
};

/// Throws CompileError with the source, NVRTC's log and the options, BackendUnavailable without
/// NVRTC. Uses no GPU. The source can include the library's headers for kernels.
CompiledCode compile_source(const SourceText& source, const SourceCache& cache);

/// Removes it from the cache on disk.
void forget_source(const SourceText& source, const SourceCache& cache);

/// Whether the text includes nothing but headers that are in the library, or nothing.
bool includes_only_embedded(const std::string& text);

/// A function of expressions as source.
struct DeviceFunction {
  std::string source;  ///< that defines it, with what it includes and calls
  std::string name;    ///< of a class with an operator()
};
/// Throws BackendUnavailable in builds without CUDA.
DeviceFunction device_function(const kernels::user_function& function);

/// "sm_90", or "compute_90" for a GPU that is newer than NVRTC. Throws BackendUnavailable.
std::string architecture_of(std::pair<int, int> compute_capability);

/// A cubin, a fatbin or PTX, and what the driver is to do with it.
struct ModuleImage {
  std::string bytes;
  std::vector<std::pair<JitOption, unsigned>> options = {};
};
/// What the driver wrote while it loaded an image, and the results among the options that it got.
struct LoadLog {
  std::string info, error;
  std::optional<float> wall_ms = std::nullopt;
  std::optional<unsigned> threads_per_block = std::nullopt;
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
  Dim3 cluster = {};  ///< in blocks; one block is no cluster
};

}  // namespace quarry::backend
