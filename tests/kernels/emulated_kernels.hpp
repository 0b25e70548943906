// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The kernels of GPUs as host code: CUDA's words over emulated blocks.
#include <bit>
#include <cstring>

#include "kernels/emulated_blocks.hpp"

#define __device__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static thread_local
#define threadIdx (::quarry::test::position().thread)
#define blockIdx (::quarry::test::position().block)
#define gridDim (::quarry::test::position().grid_size)
#define blockDim (::quarry::test::position().block_size)
#define __syncthreads() ::quarry::test::barrier()
#define __threadfence() static_cast<void>(0)
#define __syncwarp() ::quarry::test::ballot(0xffffffffu, false)
#define __shfl_down_sync(mask, value, distance, width) \
  ::quarry::test::shuffle_down(mask, value, distance, width)
#define __shfl_up_sync(mask, value, distance, width) \
  ::quarry::test::shuffle_up(mask, value, distance, width)
#define __shfl_sync(mask, value, lane, width) ::quarry::test::shuffle(mask, value, lane)
#define __shfl_xor_sync(mask, value, lanes) ::quarry::test::shuffle_xor(mask, value, lanes)
#define __reduce_max_sync(mask, value) ::quarry::test::largest_of_warp(mask, value)
#define __reduce_min_sync(mask, value) ::quarry::test::smallest_of_warp(mask, value)
#define __ballot_sync(mask, value) ::quarry::test::ballot(mask, value)
#define __match_any_sync(mask, value) ::quarry::test::match_any(mask, value)
#define __popc(bits) std::popcount(bits)
#define __clz(bits) std::countl_zero(bits)
#define atomicCAS(at, expected, desired) ::quarry::test::compare_and_swap(at, expected, desired)
#define atomicAdd(to, value) ::quarry::test::atomic_add(to, value)
#define atomicInc(to, most) ::quarry::test::atomic_increment(to, most)
#define atomicOr(to, value) ::quarry::test::atomic_or(to, value)
#define atomicMax(to, value) ::quarry::test::atomic_max(to, value)

#include "kernels/bincount.cuh"
#include "kernels/interleave.cuh"
#include "kernels/join.cuh"
#include "kernels/map.cuh"
#include "kernels/map_across.cuh"
#include "kernels/map_masked_rows.cuh"
#include "kernels/map_parted.cuh"
#include "kernels/map_scatter.cuh"
#include "kernels/map_scatter_rows.cuh"
#include "kernels/map_scatter_singles.cuh"
#include "kernels/map_tiled.cuh"
#include "kernels/map_unaligned.cuh"
#include "kernels/reduce.cuh"
#include "kernels/reduce_few.cuh"
#include "kernels/reduce_slabs.cuh"
#include "kernels/reduce_staged.cuh"
#include "kernels/rows.cuh"
#include "kernels/select.cuh"
