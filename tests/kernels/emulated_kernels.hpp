// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The kernels of GPUs as host code: CUDA's words over emulated blocks.
#include <cstring>

#include "kernels/emulated_blocks.hpp"

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

#include "kernels/map.cuh"
#include "kernels/reduce.cuh"
