// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

#include "kernels/params.cuh"

/// Totals of the accumulators of a block's threads.
namespace quarry::kernels {

/// The value of `a` in the lane that is `distance` higher, within groups of `width` lanes of the
/// warp: __shfl_down_sync for types of any size.
template <class Acc>
__device__ Acc lane_below(Acc a, int distance, int width) {
  constexpr int words = (sizeof(Acc) + 3) / 4;
  u32 word[words] = {};
  memcpy(word, &a, sizeof(Acc));
#pragma unroll
  for (int w = 0; w < words; ++w) {
    word[w] = __shfl_down_sync(0xffffffffu, word[w], static_cast<u32>(distance), width);
  }
  memcpy(&a, word, sizeof(Acc));
  return a;
}

/// The context of `finish`: the number of reduced elements, and the scalars of the call.
template <class P>
struct block_total {
  const P& p;
  __device__ i64 count() const { return p.reduced(); }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
};

/// The part of a thread in a total: `lanes` threads share an output, `apart` from each other.
struct lane_of {
  int lane, lanes, apart;
};

/// Combines the accumulators of the lanes of each output; the result is valid in lane 0. Called by
/// all threads of the block, for each of which `shared` has an element.
template <class Op, class Acc>
__device__ Acc total_of_lanes(Acc* shared, Acc sum, const lane_of& me) {
  const int slot = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  shared[slot] = sum;
#pragma unroll 1
  for (int rest = me.lanes; rest > 1; rest = (rest + 1) / 2) {
    const int half = (rest + 1) / 2;
    __syncthreads();
    if (me.lane + half < rest) {
      shared[slot] = Op::combine(shared[slot], shared[slot + half * me.apart]);
    }
  }
  sum = shared[slot];
  __syncthreads();  // the memory is used again
  return sum;
}

/// Combines the accumulators of the threads along x, a power of two, for each y; the result is
/// valid in the first of them. Called by all threads of the block; `shared` has an element for each
/// warp.
template <class Op, class Acc>
__device__ Acc total_along(Acc* shared, Acc sum) {
  const int x = static_cast<int>(threadIdx.x), bx = static_cast<int>(blockDim.x);
  const int width = bx < 32 ? bx : 32;
#pragma unroll 1
  for (int half = width / 2; half > 0; half /= 2) {
    sum = Op::combine(sum, lane_below(sum, half, width));
  }
  if (bx <= 32) return sum;
  const int warps = bx / 32, warp = static_cast<int>(threadIdx.y) * warps + x / 32;
  if (x % 32 == 0) shared[warp] = sum;
  __syncthreads();
  if (x == 0) {
#pragma unroll 1
    for (int w = 1; w < warps; ++w) sum = Op::combine(sum, shared[warp + w]);
  }
  return sum;
}

}  // namespace quarry::kernels
