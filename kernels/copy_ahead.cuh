// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// Copies to shared memory that go on while the thread does something else. Those before a call of
/// wait_for_copies are one group.
namespace quarry::kernels {

/// 16 bytes, aligned to them.
template <class Vector>
__device__ void copy_ahead(Vector* to, const Vector* from) {
  static_assert(sizeof(Vector) == 16);
#if __CUDA_ARCH__ >= 800
  const u32 at = static_cast<u32>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#else
  *to = *from;
#endif
}
/// Closes the group of copies of this thread.
inline __device__ void end_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Until all groups of the thread are done but the last `Left`.
template <int Left>
__device__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

}  // namespace quarry::kernels
