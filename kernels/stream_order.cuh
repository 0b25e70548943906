// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>

/// Kernels that are launched before the work ahead of them in the stream is done (programmatic
/// stream serialization). Without effect in other launches.
namespace quarry::kernels {

inline __device__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Waits until the work ahead in the stream is done, and sees what it has written.
inline __device__ void wait_for_work_ahead() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The first statement of all threads: waits for the work ahead, and lets the stream's next kernel
/// be launched when all blocks of this one are there.
inline __device__ void wait_for_stream() {
  let_next_begin();
  wait_for_work_ahead();
}

/// The same for kernels that may read ahead: order_reads_ahead and order_waits_first in params.hpp.
/// Before their first write they call wait_for_work_ahead().
inline __device__ void wait_for_stream(int order) {
  if ((order & order_waits_first) != 0) wait_for_work_ahead();
  let_next_begin();
  if ((order & order_reads_ahead) == 0) wait_for_work_ahead();
}

}  // namespace quarry::kernels
