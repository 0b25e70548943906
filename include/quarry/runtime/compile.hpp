// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <optional>
#include <string>
#include <vector>

namespace quarry {

/// Options for NVRTC from QUARRY_NVRTC_FLAGS, separated by spaces.
std::vector<std::string> default_compile_options();

/// How NVRTC compiles CUDA source.
struct CompileOptions {
  /// As NVRTC takes them ("--maxrregcount=32"). Without one for the language it is C++20.
  std::vector<std::string> options = default_compile_options();
  /// "sm_90" gives machine code, "compute_90" PTX. Without one that of `device`.
  std::string arch = {};
  std::optional<Device> device = std::nullopt;  ///< the current one if none
  std::vector<std::string> include_dirs = {};   ///< where included files are looked for
  /// Instantiations of templates, as C++ names them ("scale<float>"), and functions and variables
  /// that are not extern "C". A module has them under these names.
  std::vector<std::string> names = {};
  bool fastmath = false;  ///< approximate division, square roots and functions; no denormals
  bool debug = false;     ///< not optimised, with the debugger's tables
  bool lineinfo = false;  ///< with source lines for profilers
  /// Whether the code may come from the kernels' cache on disk (see kernel_cache.hpp). Source that
  /// includes files is compiled in any case, since they may have changed; <quarry/textures.cuh> is
  /// in the library, and no file.
  bool cache = true;
};

///@{
/// PTX, or machine code (a cubin), of CUDA source. No GPU is used if `arch` is given: "compute_80",
/// or "sm_80". PTX of functions in `names` has mangled names. Throw CompileError with the source,
/// NVRTC's log and the options, BackendUnavailable without NVRTC, LogicError for an `arch` of the
/// other kind, and without an `arch` on the CPU device.
std::string compile_ptx(const std::string& source, const CompileOptions& options = {});
std::string compile_cubin(const std::string& source, const CompileOptions& options = {});
///@}
/// Numba's name of compile_ptx() without an `arch`.
std::string compile_ptx_for_current_device(const std::string& source,
                                           const CompileOptions& options = {});

}  // namespace quarry
