// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/jit/kernel_source.hpp"

/// From a kernel's source to machine code by NVRTC, without a GPU and without files.
namespace quarry::backend::cuda {

/// What one kernel is compiled for: "sm_90" gives a cubin, "compute_90" gives PTX.
struct Architecture {
  std::string name;
  bool is_ptx = false;
};
/// The architecture for a GPU among those that NVRTC supports (90 is 9.0, ascending): machine code
/// where it runs on the GPU, the newest PTX for a GPU newer than NVRTC. Throws BackendUnavailable
/// for an older one.
Architecture architecture_for(std::pair<int, int> compute_capability,
                              std::span<const int> supported);
/// What the installed NVRTC supports, ascending.
const std::vector<int>& supported_architectures();

struct Binary {
  std::string code;      ///< a cubin or PTX
  std::string function;  ///< the kernel's mangled name in it
  bool operator==(const Binary&) const = default;
};

/// Throws CompileError with the source, NVRTC's log and the options; BackendUnavailable without a
/// working NVRTC.
Binary compile_kernel(const KernelSource& source, const Architecture& architecture);

/// Everything that the binary depends on, as text: the key of the cache on disk.
std::string kernel_key(const KernelSource& source, const Architecture& architecture);

}  // namespace quarry::backend::cuda
