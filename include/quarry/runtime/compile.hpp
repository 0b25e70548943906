// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quarry {

/// What CompileOptions begin with: at first the options in QUARRY_NVRTC_FLAGS, separated by spaces.
std::vector<std::string> default_compile_options();
/// Replaces them for the whole process, from any thread, and returns those before. PyCUDA's
/// DEFAULT_NVCC_FLAGS.
std::vector<std::string> set_default_compile_options(std::vector<std::string> options);

/// How NVRTC compiles CUDA source.
struct CompileOptions {
  /// As NVRTC takes them ("--maxrregcount=32"). Without one for the language it is C++20.
  std::vector<std::string> options = default_compile_options();
  /// "sm_90" gives machine code, "compute_90" PTX. Without one that of `code`, of `cc`, or of
  /// `device`.
  std::string arch = {};
  std::optional<Device> device = std::nullopt;  ///< the current one if none
  std::vector<std::string> include_dirs = {};   ///< where included files are looked for
  /// Instantiations of templates, as C++ names them ("scale<float>"), and functions and variables
  /// that are not extern "C". A module has them under these names.
  std::vector<std::string> names = {};
  bool fastmath = false;  ///< approximate division, square roots and functions; no denormals
  /// Not optimised, with the debugger's tables. Compiled while no other thread compiles, because
  /// NVRTC is loaded anew afterwards; throws BackendUnavailable where another library of the
  /// process has NVRTC open, so that it would go on without its optimiser.
  bool debug = false;
  bool lineinfo = false;  ///< with source lines for profilers
  /// Whether the code may come from the kernels' cache on disk (see kernel_cache.hpp). Source that
  /// includes files is compiled in any case, since they may have changed; headers of Quarry itself
  /// (<quarry/device_view.cuh>, <quarry/textures.cuh>) are no files.
  bool cache = true;
  /// The absolute name of the directory of that cache; the process's own if empty. It is made if it
  /// is not there, and refused with a warning if others can write to it. QUARRY_DISABLE_CACHE=1
  /// counts here too.
  std::string cache_dir = {};
  /// nvcc's -code, where it differs from `arch`: with "compute_80" there, "sm_90" here is machine
  /// code for 9.0 of a program for 8.0, which nvJitLink makes of the PTX. Alone it is an `arch`.
  std::string code = {};
  /// Numba's form of `arch`: a compute capability; the call tells the kind of code.
  std::pair<int, int> cc = {0, 0};
  /// Whether the code is optimised: the default but for `debug`. NVRTC optimises PTX in any case.
  std::optional<bool> opt = std::nullopt;
  bool relocatable = false;  ///< calls functions of other code: to be linked (linker.hpp)
  /// Leaves the source, the code and what the compiler said in a new folder, also if it does not
  /// compile; compiles in any case. A line on stderr names the folder, and so does Module::kept().
  bool keep = false;
  std::string keep_dir = {};       ///< that folder, made if it is not there; then no line
  std::string name = "source.cu";  ///< of the source in messages and in that folder
};

///@{
/// PTX, machine code (a cubin), or the code that the linker optimises (LTO-IR), of CUDA source. No
/// GPU is used if `arch`, `code` or `cc` is given: "compute_80" for PTX, "sm_80" for a cubin,
/// either for LTO-IR. PTX without any of these is for QUARRY_DEFAULT_PTX_CC ("9.0"), if that is
/// set, also without a GPU. What is in `names` has mangled names. Throw CompileError with the
/// source, NVRTC's log and the options, BackendUnavailable without NVRTC, LogicError for an `arch`
/// of the other kind, and without an `arch` on the CPU device.
std::string compile_ptx(const std::string& source, const CompileOptions& options = {});
std::string compile_cubin(const std::string& source, const CompileOptions& options = {});
std::string compile_ltoir(const std::string& source, const CompileOptions& options = {});
///@}
/// Numba's name of compile_ptx() for the current device.
std::string compile_ptx_for_current_device(const std::string& source,
                                           const CompileOptions& options = {});

}  // namespace quarry
