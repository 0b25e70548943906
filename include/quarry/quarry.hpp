// SPDX-License-Identifier: BSD-3-Clause
#pragma once
/// All of Quarry except the headers for other libraries (xtensor.hpp, eigen.hpp, eigen_tensor.hpp,
/// mdspan.hpp, device_view.cuh, pooled.hpp, dlpack.hpp, npy.hpp, cuda_mr.hpp,
/// array/cuda_array_interface.hpp) and rarely used ones: arrays of a rank that the compiler knows
/// (ranked.hpp), views as arguments of kernels (array/device_view.hpp), copies of boxes of raw
/// memory (memory/block_copy.hpp), CUDA arrays (memory/cuda_array.hpp, array/cuda_array.hpp),
/// textures and surfaces (memory/texture.hpp, array/texture.hpp), constants for graphics
/// (base/graphics.hpp), CUDA graphs (memory/graph.hpp, memory/graph_memory.hpp), the adaptors of
/// resources (memory/statistics.hpp, limit.hpp, tracking.hpp, allocation_log.hpp, failing.hpp,
/// red_zone.hpp, nvtx.hpp), managers of other libraries (memory/external_manager.hpp), blocks of
/// host memory and memory of other classes (memory/host_allocation.hpp, pointer_holder.hpp), what
/// profilers show (runtime/annotation.hpp, profiler.hpp), linking (runtime/linker.hpp), occupancy
/// (runtime/occupancy.hpp), kept results (runtime/memoize.hpp), tests with GoogleTest (gtest.hpp)
/// and kernels from the texts of operations (ops/elementwise_kernel.hpp, reduction_kernel.hpp,
/// scan_kernel.hpp, pointer_kernel.hpp).
#include <quarry/array/creation.hpp>
#include <quarry/array/ipc.hpp>
#include <quarry/array/managed.hpp>
#include <quarry/array/mapped.hpp>
#include <quarry/array/module.hpp>
#include <quarry/array/ndarray.hpp>
#include <quarry/array/record.hpp>
#include <quarry/array/view.hpp>
#include <quarry/expr/evaluate.hpp>
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/buffer.hpp>
#include <quarry/memory/current_resource.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/host_array.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/memory/resource.hpp>
#include <quarry/memory/transfer.hpp>
#include <quarry/ops/bincount.hpp>
#include <quarry/ops/closeness.hpp>
#include <quarry/ops/diff.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/grids.hpp>
#include <quarry/ops/indexing.hpp>
#include <quarry/ops/join.hpp>
#include <quarry/ops/matrix.hpp>
#include <quarry/ops/methods.hpp>
#include <quarry/ops/nonzero.hpp>
#include <quarry/ops/pad.hpp>
#include <quarry/ops/padded.hpp>
#include <quarry/ops/put.hpp>
#include <quarry/ops/rearrange.hpp>
#include <quarry/ops/reduce.hpp>
#include <quarry/ops/rows.hpp>
#include <quarry/ops/select.hpp>
#include <quarry/ops/shape.hpp>
#include <quarry/ops/take.hpp>
#include <quarry/runtime/context.hpp>
#include <quarry/runtime/device.hpp>
#include <quarry/runtime/event.hpp>
#include <quarry/runtime/kernel_cache.hpp>
#include <quarry/runtime/stream.hpp>
