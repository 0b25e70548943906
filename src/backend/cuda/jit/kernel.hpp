// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <quarry/kernels/program.hpp>

#include "backend/cuda/jit/variant.hpp"

/// The loaded kernels of every program, in memory.
namespace quarry::backend::cuda {

/// The device that a kernel is loaded on; `generation` counts its resets.
struct KernelTarget {
  int device;
  std::uint32_t generation;
  std::pair<int, int> compute_capability;
};

struct Kernel {
  CUfunction function = nullptr;
  int resident_blocks = 0;  ///< of 256 threads, which a multiprocessor runs at once
};

/// An entry of the list that begins at `program.compiled`. Entries are never removed, so that
/// reading needs no lock.
struct LoadedKernel {
  Variant variant;
  std::uint32_t generation;
  int device;
  Kernel kernel;
  const LoadedKernel* next;
};

namespace detail {
extern std::atomic<std::int64_t> memory_hits;
const Kernel& make_kernel(const kernels::program& program, const Variant& variant,
                          const KernelTarget& target);
}  // namespace detail

inline const Kernel* find_kernel(const kernels::program& program, const Variant& variant,
                                 const KernelTarget& target) {
  auto* entry = static_cast<const LoadedKernel*>(program.compiled.load(std::memory_order_acquire));
  for (; entry; entry = entry->next) {
    if (entry->variant == variant && entry->device == target.device &&
        entry->generation == target.generation) {
      return &entry->kernel;
    }
  }
  return nullptr;
}

/// The kernel: loaded already, from the cache on disk, or compiled now. The device's context has to
/// be current. Throws what compile_kernel throws, and CompileError if the driver rejects the code.
inline const Kernel& kernel(const kernels::program& program, const Variant& variant,
                            const KernelTarget& target) {
  if (const Kernel* const found = find_kernel(program, variant, target)) [[likely]] {
    detail::memory_hits.fetch_add(1, std::memory_order_relaxed);
    return *found;
  }
  return detail::make_kernel(program, variant, target);
}

/// The program that was the last to ask for the kernel of this name, or nullptr: for a driver that
/// runs kernels on the host. It is gone when the shared object that defines it is unloaded.
const kernels::program* find_program(const std::string& instantiation);

}  // namespace quarry::backend::cuda
