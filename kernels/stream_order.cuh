// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

namespace quarry::kernels {

/// The first statement of all threads of kernels that are launched before the work ahead of them in
/// the stream is done (programmatic stream serialization): waits for that work, and lets the
/// stream's next kernel be launched when all blocks of this one are there. Without effect in other
/// launches.
inline __device__ void wait_for_stream() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace quarry::kernels
