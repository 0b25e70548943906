// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/vector.cuh"

/// Copies to shared memory that go on while the thread does something else. GPUs before compute
/// capability 8.0 have no such copies.
namespace quarry::kernels {

/// Copies an element, or a word; it is there after copies_done, or wait_for_copies, and a barrier.
/// `Once`: 16 bytes, which the L1 cache does not keep.
template <class T, bool Once = false>
__device__ void copy_async(char* to, const char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(to));
  if constexpr (Once) {
    static_assert(sizeof(T) == 16);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
    return;
  } else if constexpr (sizeof(T) >= 4 && alignof(T) == sizeof(T)) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(sizeof(T)));
    return;
  }
#endif
  *reinterpret_cast<vec<T, 1>*>(to) = *reinterpret_cast<const vec<T, 1>*>(from);
}
/// Until all copies of this thread are done.
__device__ inline void copies_done() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
/// Makes those since the last call one group.
__device__ inline void end_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Until all groups of this thread are done but the last `Left`.
template <int Left>
__device__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

}  // namespace quarry::kernels
