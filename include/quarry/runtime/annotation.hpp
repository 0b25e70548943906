// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

/// The library's operations as ranges in profilers (NVTX, in the domain "Quarry"): "map add
/// multiply float32 (4096, 4096)", "reduce sum float32 (4096, 4096)", "kernel scale (4, 1, 1) x
/// (256, 1, 1)", "upload float32 (4096, 4096)", "fill", "allocate 4096 bytes from pool of device".
/// A range is the time in which the host queues the operation; Nsight Systems shows the kernels
/// that belong to it.
namespace quarry {

/// Whether operations are shown from now on. At first the environment variable QUARRY_NVTX=1 says
/// so. Without a profiler, and in builds without CUDA, nothing is shown, at no cost.
void set_annotations(bool wanted);
/// Whether they are shown now: they are to be, and a profiler is attached.
bool has_annotations();

}  // namespace quarry
