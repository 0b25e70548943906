// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/math.hpp>
#include <quarry/kernels/types.hpp>

#include "kernels/best_of_warp.cuh"
#include "kernels/params.cuh"

/// Totals of the accumulators of a block's threads.
namespace quarry::kernels {

/// `a` of another lane, of any size: what shuffle(word) is of each of its words.
template <class Acc, class F>
__device__ Acc shuffled(Acc a, const F& shuffle) {
  constexpr int words = (sizeof(Acc) + 3) / 4;
  u32 word[words] = {};
  memcpy(word, &a, sizeof(Acc));
#pragma unroll
  for (int w = 0; w < words; ++w) word[w] = shuffle(word[w]);
  memcpy(&a, word, sizeof(Acc));
  return a;
}

/// The value of `a` in the lane that is `distance` higher, within groups of `width` lanes of the
/// warp.
template <class Acc>
__device__ Acc lane_below(Acc a, int distance, int width) {
  return shuffled(a, [=](u32 word) {
    return __shfl_down_sync(0xffffffffu, word, static_cast<u32>(distance), width);
  });
}

/// The sum over each group of `Lanes` lanes of a warp, a power of two, in all of them.
template <int Lanes>
struct sum_of_group {
  template <class T>
  __device__ T operator()(T sum) const {
#pragma unroll
    for (u32 apart = Lanes / 2; apart > 0; apart /= 2) {
      const auto across = [=](u32 word) { return __shfl_xor_sync(0xffffffffu, word, apart); };
      sum = math::add(sum, shuffled(sum, across));
    }
    return sum;
  }
};

/// The sum over the lanes of a warp up to its own.
template <class T>
__device__ T sum_of_lanes(T own) {
  T sum = own;
#pragma unroll
  for (u32 apart = 1; apart < 32; apart *= 2) {
    const u64 word = static_cast<u64>(sum);
    u64 other = __shfl_up_sync(0xffffffffu, static_cast<u32>(word), apart, 32);
    if constexpr (sizeof(T) > 4) {
      other |= u64{__shfl_up_sync(0xffffffffu, static_cast<u32>(word >> 32), apart, 32)} << 32;
    }
    if (threadIdx.x % 32 >= apart) sum += static_cast<T>(other);
  }
  return sum;
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

/// Combines the accumulators of the lanes of each of N outputs; the results are valid in lane 0.
/// Called by all threads of the block, for each of which `shared` has N elements.
template <class Op, class Acc, int N>
__device__ void total_of_lanes(Acc* shared, Acc (&sum)[N], const lane_of& me) {
  if (me.lanes == 1) return;
  const int all = static_cast<int>(blockDim.x * blockDim.y);
  Acc* const mine = shared + (threadIdx.y * blockDim.x + threadIdx.x);
#pragma unroll
  for (int j = 0; j < N; ++j) mine[j * all] = sum[j];
#pragma unroll 1
  for (int rest = me.lanes; rest > 1; rest = (rest + 1) / 2) {
    const int half = (rest + 1) / 2;
    __syncthreads();
    if (me.lane + half >= rest) continue;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      mine[j * all] = Op::combine(mine[j * all], mine[j * all + half * me.apart]);
    }
  }
#pragma unroll
  for (int j = 0; j < N; ++j) sum[j] = mine[j * all];
  __syncthreads();  // the memory is used again
}

/// Combines the accumulators of groups of `width` lanes of a warp, a power of two; the result is
/// valid in the first of them.
template <class Op, class Acc>
__device__ Acc total_of_group(Acc sum, int width) {
  if constexpr (has_order<Acc>) {
    if (width == 32) return best_of_warp<Op>(sum);
  }
#pragma unroll 1
  for (int half = width / 2; half > 0; half /= 2) {
    sum = Op::combine(sum, lane_below(sum, half, width));
  }
  return sum;
}

/// Combines the accumulators of a row of `count` consecutive threads of the block, a power of two,
/// of which this is thread `x` of row `y`; the result is valid in the first of them. Called by all
/// threads of the block; `shared` has an element for each warp.
template <class Op, class Acc>
__device__ Acc total_of_row(Acc* shared, Acc sum, int x, int y, int count) {
  sum = total_of_group<Op>(sum, count < 32 ? count : 32);
  if (count <= 32) return sum;
  const int warps = count / 32, warp = y * warps + x / 32;
  if (x % 32 == 0) shared[warp] = sum;
  __syncthreads();
  if (x >= 32) return sum;
  // of extremes all lanes may be one group, in which each is there several times
  return total_of_group<Op>(shared[warp + x % warps], has_order<Acc> ? 32 : warps);
}
/// The same of the threads along x, for each y.
template <class Op, class Acc>
__device__ Acc total_along(Acc* shared, Acc sum) {
  return total_of_row<Op>(shared, sum, static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.y),
                          static_cast<int>(blockDim.x));
}

}  // namespace quarry::kernels
