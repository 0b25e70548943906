// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/vector.cuh"

/// How often every value occurs, on GPUs:
///   bincount_private   every block counts in its shared memory, then adds to the output
///   bincount_direct    every warp adds to the output
/// The output does not move along the axes of the call: one kept axis of extent 1, as that of every
/// reduction to one place, and the axis of the elements.
namespace quarry::kernels {

/// Counters of 32 bits: a block counts fewer than 2^32 elements.
struct private_counters {
  u32* at;
  u64 bins;
  __device__ void add(u64 bin) const {
    if (bin < bins) atomicAdd(at + bin, 1u);
  }
};

/// Equal bins of a warp are added at once, so that they do not wait for each other. All threads of
/// the warp are here.
struct direct_counters {
  unsigned long long* at;
  u64 bins;
  __device__ void add(u64 bin) const {
    const u32 equal = __match_any_sync(0xffffffffu, bin), before = (1u << threadIdx.x % 32) - 1;
    if (bin < bins && (equal & before) == 0) {
      atomicAdd(at + bin, static_cast<unsigned long long>(__popc(equal)));
    }
  }
};

template <class M, int V, unsigned Wide>
struct bincount_body;

template <class E, int S, class... In, int V, unsigned Wide>
struct bincount_body<bincount_of<E, S, In...>, V, Wide> {
  static constexpr int K = sizeof...(In) + 1, elements = 1;  // operands; the number of the axis
  static constexpr int unroll = V > 4 ? 2 : V > 1 ? 4 : 8;   // accesses in flight of a thread
  static constexpr u64 no_bin = ~u64{0};
  using P = params<K, S, 2>;
  template <int Lanes, unsigned Mask>
  using Loaded = loaded<Lanes, Mask, 0, In...>;

  static __device__ u64 bins(const P& p) { return p.template scalar<u64>(S - 1); }
  static __device__ unsigned long long* counts(const P& p) {
    return p.template pointer<unsigned long long>(0);
  }

  template <int Lanes, unsigned Mask>
  static __device__ void read(const P& p, i64 i, Loaded<Lanes, Mask>& in) {
    const char* at[K];
#pragma unroll
    for (int k = 1; k < K; ++k) {
      at[k - 1] = p.template pointer<const char>(k) + i * p.stride(k, elements);
    }
    in.load(at);
  }

  /// `Count` vectors of every thread, `step` elements apart, whose loads are in flight together.
  /// One that does not end by `end` has no bins: all threads call add() equally often.
  template <int Lanes, unsigned Mask, int Count, class Counters>
  static __device__ void count(const P& p, const Counters& to, i64 first, i64 step, i64 end) {
    Loaded<Lanes, Mask> in[Count];
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      const i64 i = first + u * step;
      if (i + Lanes <= end) read<Lanes, Mask>(p, i, in[u]);
    }
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      const i64 i = first + u * step;
#pragma unroll
      for (int lane = 0; lane < Lanes; ++lane) {
        u64 bin = no_bin;
        if (i + Lanes <= end) {
          bin = convert<u64>(E{}(lane_context<P, Lanes, Mask, In...>{p, in[u], i + lane, lane}));
        }
        to.add(bin);
      }
    }
  }

  /// The elements of this block.
  template <class Counters>
  static __device__ void count_chunk(const P& p, const Counters& to) {
    const i64 begin = blockIdx.x * p.chunk(), left = p.reduced() - begin;
    const i64 end = begin + (left < p.chunk() ? left : p.chunk());
    const i64 whole = begin + (end - begin) / V * V, thread = threadIdx.x, step = blockDim.x * V;
#pragma unroll 1
    for (i64 i = begin; i < whole; i += unroll * step) {
      count<V, Wide, unroll>(p, to, i + thread * V, step, whole);
    }
    if (V > 1 && whole < end) count<1, 0, 1>(p, to, whole + thread, 1, end);
  }

  static __device__ void run_private(const P& p) {
    __shared__ u32 counter[most_private_bins];
    const u64 n = bins(p);
    for (u64 bin = threadIdx.x; bin < n; bin += blockDim.x) counter[bin] = 0;
    __syncthreads();
    count_chunk(p, private_counters{counter, n});
    __syncthreads();
    for (u64 bin = threadIdx.x; bin < n; bin += blockDim.x) {
      if (counter[bin] != 0) {
        atomicAdd(counts(p) + bin, static_cast<unsigned long long>(counter[bin]));
      }
    }
  }
  static __device__ void run_direct(const P& p) {
    count_chunk(p, direct_counters{counts(p), bins(p)});
  }
  using param_type = P;
};

/// Blocks of whole warps, each for `chunk` elements, which V divides. With V > 1 inputs are dense
/// along the elements (bit k of Wide for input k) with aligned vectors, or do not move. There are
/// at most most_private_bins.
template <class M, int V, unsigned Wide>
__global__ void __launch_bounds__(512)
    bincount_private(const __grid_constant__ typename bincount_body<M, V, Wide>::param_type p) {
  bincount_body<M, V, Wide>::run_private(p);
}

/// The same for any number of bins.
template <class M, int V, unsigned Wide>
__global__ void __launch_bounds__(512)
    bincount_direct(const __grid_constant__ typename bincount_body<M, V, Wide>::param_type p) {
  bincount_body<M, V, Wide>::run_direct(p);
}

}  // namespace quarry::kernels
