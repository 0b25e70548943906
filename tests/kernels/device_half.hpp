// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What only NVRTC compiles of the kernel headers, as host code: CUDA's words over emulated blocks.
// Included before any other header of Quarry's.
#include <cstring>

#include "kernels/emulated_blocks.hpp"

#define QUARRY_EMULATED_DEVICE
#define __device__
#define __global__
#define __grid_constant__
#define __launch_bounds__(threads)
#define __shared__ static
#define threadIdx (::quarry::test::position().thread)
#define blockIdx (::quarry::test::position().block)
#define gridDim (::quarry::test::position().grid_size)
#define blockDim (::quarry::test::position().block_size)
#define __syncthreads() ::quarry::test::barrier()
#define __shfl_down_sync(mask, value, distance, width) \
  ::quarry::test::shuffle_down(mask, value, distance, width)

#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>
