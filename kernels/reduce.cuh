// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/reducer.hpp>

#include "kernels/params.cuh"
#include "kernels/vector.cuh"

/// The kernels of reductions. Kept and reduced axes each have their extents and strides, so any
/// layout is read in place.
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

template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
struct reduce_body;

/// Along = 1: consecutive threads read along the reduced axes, which have the smallest strides; a
/// block computes blockDim.y outputs. Along = 0: consecutive threads compute consecutive outputs,
/// and blockDim.y threads share the elements of each. gridDim.y splits the reduced elements; with
/// more than one split the partial accumulators go to `partial` as [split][kept], and reduce_finish
/// combines them in order.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  static constexpr int K = sizeof...(In) + 1, R = Rk + Rr, threads = 256;
  static constexpr int unroll = V > 1 ? 4 : 8;  // loads in flight per thread
  using P = params<K, S, R>;
  template <int Lanes, unsigned Mask>
  using Loaded = loaded<Lanes, Mask, 0, In...>;

  /// Byte offsets of all operands: first of an output, then also of an element reduced into it.
  struct Offsets {
    Index of[K];
    __device__ void advance(const P& p, Index i, int first, int last) {
#pragma unroll
      for (int d = R - 1; d >= 0; --d) {
        if (d < first || d >= last) continue;
        Index j = i;
        if (d > first) {
          const Index extent = static_cast<Index>(p.extent(d)), next = i / extent;
          j = i - next * extent;
          i = next;
        }
#pragma unroll
        for (int k = 0; k < K; ++k) of[k] += j * static_cast<Index>(p.stride(k, d));
      }
    }
  };

  template <int Lanes, unsigned Mask>
  static __device__ void read(const P& p, const Offsets& base, i64 i, Loaded<Lanes, Mask>& in) {
    Offsets o = base;
    o.advance(p, static_cast<Index>(i), Rk, R);
    const char* at[K];
#pragma unroll
    for (int k = 1; k < K; ++k) at[k - 1] = p.template pointer<const char>(k) + o.of[k];
    in.load(at);
  }
  template <int Lanes, unsigned Mask>
  static __device__ void add(const P& p, Acc& sum, const Loaded<Lanes, Mask>& in, i64 i) {
#pragma unroll
    for (int lane = 0; lane < Lanes; ++lane) {
      const lane_context<P, Lanes, Mask, In...> c{p, in, i + lane, lane};
      Op::take(sum, E{}(c), i + lane);
    }
  }

  /// Reduces the vectors at begin, begin + step, ... that end by `end`, in `unroll` independent
  /// accumulators, so that as many loads are in flight.
  template <int Lanes, unsigned Mask>
  static __device__ Acc walk(const P& p, const Offsets& base, i64 begin, i64 end, i64 step) {
    Acc sum[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum[u] = Op::template identity<Acc>();
    i64 i = begin;
#pragma unroll 1
    for (; i + (unroll - 1) * step + Lanes <= end; i += unroll * step) {
      Loaded<Lanes, Mask> in[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) read<Lanes, Mask>(p, base, i + u * step, in[u]);
#pragma unroll
      for (int u = 0; u < unroll; ++u) add<Lanes, Mask>(p, sum[u], in[u], i + u * step);
    }
#pragma unroll(V > 1 ? 1 : 4)
    for (; i + Lanes <= end; i += step) {
      Loaded<Lanes, Mask> in;
      read<Lanes, Mask>(p, base, i, in);
      add<Lanes, Mask>(p, sum[0], in, i);
    }
#pragma unroll
    for (int u = 1; u < unroll; ++u) sum[0] = Op::combine(sum[0], sum[u]);
    return sum[0];
  }

  /// Combines the accumulators of the threads that share an output; the result is valid in the
  /// first of them. With Along they are consecutive, else blockDim.x apart.
  static __device__ Acc total(Acc sum) {
    alignas(16) __shared__ char storage[(Along ? threads / 32 : threads) * sizeof(Acc)];
    Acc* const shared = reinterpret_cast<Acc*>(storage);
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y);
    if constexpr (Along) {
      const int width = bx < 32 ? bx : 32;
#pragma unroll 1
      for (int half = width / 2; half > 0; half /= 2) {
        sum = Op::combine(sum, lane_below(sum, half, width));
      }
      if (bx <= 32) return sum;
      const int warps = bx / 32, warp = y * warps + x / 32;
      if (x % 32 == 0) shared[warp] = sum;
      __syncthreads();
      if (x == 0) {
#pragma unroll 1
        for (int w = 1; w < warps; ++w) sum = Op::combine(sum, shared[warp + w]);
      }
    } else {
      const int slot = y * bx + x;
      shared[slot] = sum;
#pragma unroll 1
      for (int half = by / 2; half > 0; half /= 2) {
        __syncthreads();
        if (y < half) shared[slot] = Op::combine(shared[slot], shared[slot + half * bx]);
      }
      sum = shared[slot];
    }
    return sum;
  }

  static __device__ void run(const P& p, Acc* partial) {
    const i64 kept = p.kept(), reduced = p.reduced(), chunk = p.chunk();
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y);
    const i64 output = blockIdx.x * static_cast<i64>(Along ? by : bx) + (Along ? y : x);
    const i64 begin = blockIdx.y * chunk, end = begin + chunk < reduced ? begin + chunk : reduced;
    Offsets base{};
    Acc sum = Op::template identity<Acc>();
    if (output < kept) {
      base.advance(p, static_cast<Index>(output), 0, Rk);
      const int lane = Along ? x : y, lanes = Along ? bx : by;
      sum = walk<V, Wide>(p, base, begin + lane * V, end, static_cast<i64>(lanes) * V);
      if constexpr (V > 1) {  // the last elements, too few for a vector
#pragma unroll 1
        for (i64 rest = begin + (end - begin) / V * V + lane; rest < end; rest += lanes) {
          Loaded<1, 0> in;
          read<1, 0>(p, base, rest, in);
          add<1, 0>(p, sum, in, rest);
        }
      }
    }
    sum = total(sum);
    if ((Along ? x : y) != 0 || output >= kept) return;
    if (partial) {
      partial[blockIdx.y * kept + output] = sum;
    } else {
      *reinterpret_cast<Out*>(p.template pointer<char>(0) + base.of[0]) =
          Op::template finish<Out>(sum, block_total<P>{p});
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// blockDim.x * blockDim.y is 32 to 256, both powers of two. V > 1 requires Along, one reduced
/// axis, chunks that are multiples of V, and that every input is dense along that axis with aligned
/// vectors (bit k of Wide for input k) or has the stride 0 along it.
template <class M, int Rk, int Rr, int IndexBytes, int Along, int V = 1, unsigned Wide = 0>
__global__ void __launch_bounds__(256)
    reduce(const __grid_constant__
           typename reduce_body<M, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>::param_type p,
           void* partial) {
  using Body = reduce_body<M, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>;
  Body::run(p, static_cast<typename Body::acc_type*>(partial));
}

template <class M>
struct reduce_finish_body;

/// A block combines the `splits` partial accumulators of one output at a time.
template <class E, class Op, class Acc, class Out, int S, class... In>
struct reduce_finish_body<reduction_of<E, Op, Acc, Out, S, In...>> {
  using P = params<sizeof...(In) + 1, S, 0>;
  static __device__ void run(const P& p, const Acc* partial, i64 splits) {
    alignas(16) __shared__ char storage[128 * sizeof(Acc)];
    Acc* const shared = reinterpret_cast<Acc*>(storage);
    const int x = static_cast<int>(threadIdx.x);
    const i64 kept = p.kept();
#pragma unroll 1
    for (i64 output = blockIdx.x; output < kept; output += gridDim.x) {
      Acc sum = Op::template identity<Acc>();
#pragma unroll 4
      for (i64 s = x; s < splits; s += blockDim.x) {
        sum = Op::combine(sum, partial[s * kept + output]);
      }
      shared[x] = sum;
#pragma unroll 1
      for (int half = static_cast<int>(blockDim.x) / 2; half > 0; half /= 2) {
        __syncthreads();
        if (x < half) shared[x] = Op::combine(shared[x], shared[x + half]);
      }
      if (x == 0) {
        p.template pointer<Out>(0)[output] = Op::template finish<Out>(shared[0], block_total<P>{p});
      }
      __syncthreads();
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// Output k is element k of a dense array: a reduction is split only where its output is dense.
template <class M>
__global__ void __launch_bounds__(128)
    reduce_finish(const __grid_constant__ typename reduce_finish_body<M>::param_type p,
                  const void* partial, i64 splits) {
  using Body = reduce_finish_body<M>;
  Body::run(p, static_cast<const typename Body::acc_type*>(partial), splits);
}

}  // namespace quarry::kernels
