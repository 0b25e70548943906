// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/params.hpp>
#include <quarry/kernels/reducer.hpp>

/// A reduction over any axes of an expression; the input is read once. Kept and reduced axes have their own
/// shape and strides, so no layout needs packing first.
#ifdef __CUDACC__
namespace quarry::kernels {

template <class P, class Index, int K, int R>
struct reduce_context {
  const P& p;
  Index offset[K];
  i64 linear;
  template <class T, int J>
  __device__ T input() const {
    return load<T>(p.template pointer<const char>(J + 1) + offset[J + 1]);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
  __device__ i64 index() const { return linear; }
  /// Adds the offsets of position `i` in the axes [first, last).
  __device__ void advance(Index i, int first, int last) {
#pragma unroll
    for (int d = R - 1; d >= 0; --d) {
      if (d < first || d >= last) continue;
      const Index extent = static_cast<Index>(p.extent(d)), next = d > first ? i / extent : 0;
      const Index j = d > first ? i - next * extent : i;
      i = next;
#pragma unroll
      for (int k = 0; k < K; ++k) offset[k] += j * static_cast<Index>(p.stride(k, d));
    }
  }
};

template <class M, int Rk, int Rr, class Index, int Along>
struct reduce_body;

/// Along = 1: threads of a warp run along the reduced axes (they hold the smallest strides), blockDim.y
/// outputs a block. Along = 0: they run along the kept axes, blockDim.y shares the reduced elements.
/// gridDim.y splits the reduced elements; with more than one split the partial accumulators go to `partial`
/// as [split][kept] and reduce_finish combines them in order.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along>
struct reduce_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along> {
  static constexpr int K = sizeof...(In) + 1, unroll = 4, threads = 256;
  using P = params<K, S, Rk + Rr, 3>;
  using Context = reduce_context<P, Index, K, Rk + Rr>;

  static __device__ Acc element(const P& p, const Context& base, i64 i) {
    Context c = base;
    c.linear = i;
    c.advance(static_cast<Index>(i), Rk, Rk + Rr);
    return Op::template lift<Acc>(E{}(c), i);
  }

  /// Elements begin, begin + step, ... below `end`, in `unroll` independent chains.
  static __device__ Acc walk(const P& p, const Context& base, i64 begin, i64 end, i64 step) {
    Acc sum[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) sum[u] = Op::template identity<Acc>();
    i64 i = begin;
    for (; i + (unroll - 1) * step < end; i += unroll * step) {
      Acc value[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) value[u] = element(p, base, i + u * step);
#pragma unroll
      for (int u = 0; u < unroll; ++u) sum[u] = Op::combine(sum[u], value[u]);
    }
    for (; i < end; i += step) sum[0] = Op::combine(sum[0], element(p, base, i));
#pragma unroll
    for (int u = 1; u < unroll; ++u) sum[0] = Op::combine(sum[0], sum[u]);
    return sum[0];
  }

  static __device__ void run(const P& p, Acc* partial) {
    const i64 kept = static_cast<i64>(p.word[0]), reduced = static_cast<i64>(p.word[1]);
    const i64 chunk = static_cast<i64>(p.word[2]);
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y);
    const i64 output = Along ? blockIdx.x * static_cast<i64>(by) + y : blockIdx.x * static_cast<i64>(bx) + x;
    const i64 begin = blockIdx.y * chunk, end = begin + chunk < reduced ? begin + chunk : reduced;
    Context base{p, {}, 0};
    Acc sum = Op::template identity<Acc>();
    if (output < kept) {
      base.advance(static_cast<Index>(output), 0, Rk);
      sum = Along ? walk(p, base, begin + x, end, bx) : walk(p, base, begin + y, end, by);
    }
    __shared__ alignas(16) char storage[threads * sizeof(Acc)];
    Acc* const shared = reinterpret_cast<Acc*>(storage);
    const int lanes = Along ? bx : by, lane = Along ? x : y, stride = Along ? 1 : bx;
    const int slot = y * bx + x;
    shared[slot] = sum;
    for (int half = lanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane < half) shared[slot] = Op::combine(shared[slot], shared[slot + half * stride]);
    }
    if (lane != 0 || output >= kept) return;
    if (partial) {
      partial[blockIdx.y * kept + output] = shared[slot];
    } else {
      *reinterpret_cast<Out*>(p.template pointer<char>(0) + base.offset[0]) =
          Op::template finish<Out>(shared[slot], reduced);
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// blockDim.x * blockDim.y <= 256, both powers of two.
template <class M, int Rk, int Rr, class Index, int Along>
__global__ void __launch_bounds__(256)
    reduce(const __grid_constant__ typename reduce_body<M, Rk, Rr, Index, Along>::param_type p,
           void* partial) {
  using Body = reduce_body<M, Rk, Rr, Index, Along>;
  Body::run(p, static_cast<typename Body::acc_type*>(partial));
}

template <class M>
struct reduce_finish_body;

/// One block an output: combines `splits` partial accumulators of it.
template <class E, class Op, class Acc, class Out, int S, class... In>
struct reduce_finish_body<reduction_of<E, Op, Acc, Out, S, In...>> {
  template <class Offset>
  static __device__ void run(Offset to, const Acc* partial, i64 kept, i64 splits, i64 count) {
    __shared__ alignas(16) char storage[128 * sizeof(Acc)];
    Acc* const shared = reinterpret_cast<Acc*>(storage);
    const int x = static_cast<int>(threadIdx.x);
    for (i64 output = blockIdx.x; output < kept; output += gridDim.x) {
      Acc sum = Op::template identity<Acc>();
      for (i64 s = x; s < splits; s += blockDim.x) {
        sum = Op::combine(sum, partial[s * kept + output]);
      }
      shared[x] = sum;
      for (int half = static_cast<int>(blockDim.x) / 2; half > 0; half /= 2) {
        __syncthreads();
        if (x < half) shared[x] = Op::combine(shared[x], shared[x + half]);
      }
      if (x == 0) *to(output) = Op::template finish<Out>(shared[0], count);
      __syncthreads();
    }
  }
  using out_type = Out;
  using acc_type = Acc;
};

/// The output of kept position k is out + k * stride elements (a reduction's result is dense when split).
template <class M>
__global__ void __launch_bounds__(128)
    reduce_finish(void* out, const void* partial, i64 kept, i64 splits, i64 count) {
  using Body = reduce_finish_body<M>;
  auto* const to = static_cast<typename Body::out_type*>(out);
  Body::run([=](i64 k) { return to + k; }, static_cast<const typename Body::acc_type*>(partial), kept,
            splits, count);
}

}  // namespace quarry::kernels
#else  // the CPU device
namespace quarry::kernels {

/// `begin` starts an accumulator, `run` folds `n` elements into it (`first` is the position of the first one
/// among the reduced), `merge` folds b into a, `finish` writes the result. For `columns` n accumulators lie
/// side by side and each takes one element of the run. Accumulators are `accumulator_size` bytes.
struct reduce_loops {
  void (*begin)(void* acc, i64 n);
  void (*run)(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
  void (*columns)(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 at);
  void (*merge)(void* a, const void* b, i64 n);
  void (*finish)(void* out, i64 out_stride, const void* acc, i64 n, i64 count);
};

template <class M>
struct cpu_reduce;

template <class E, class Op, class Acc, class Out, int S, class... In>
struct cpu_reduce<reduction_of<E, Op, Acc, Out, S, In...>> {
  struct context {
    char* const* pointer;
    const i64* stride;
    const u64* scalars;
    i64 i, at;
    template <class T, int K>
    T input() const {
      return load<T>(pointer[K + 1] + i * stride[K + 1]);
    }
    template <class T, int J>
    T scalar() const {
      return *reinterpret_cast<const T*>(scalars + 2 * J);
    }
    i64 index() const { return at; }
  };
  static Acc* accumulators(void* acc) { return static_cast<Acc*>(acc); }
  static void begin(void* acc, i64 n) {
    for (i64 i = 0; i < n; ++i) accumulators(acc)[i] = Op::template identity<Acc>();
  }
  /// Pairwise above blocks of 128 in eight chains: the rounding error grows with log n.
  static Acc fold(const context& c, i64 n) {
    if (n > 128) {
      const i64 half = n / 2 / 8 * 8;
      context right = c;
      right.i += half;
      right.at += half;
      return Op::combine(fold(c, half), fold(right, n - half));
    }
    Acc lane[8];
    for (Acc& a : lane) a = Op::template identity<Acc>();
    context at = c;
    i64 i = 0;
    for (; i + 8 <= n; i += 8) {
      for (Acc& a : lane) {
        a = Op::combine(a, Op::template lift<Acc>(E{}(at), at.at));
        ++at.i, ++at.at;
      }
    }
    for (; i < n; ++i, ++at.i, ++at.at) {
      lane[0] = Op::combine(lane[0], Op::template lift<Acc>(E{}(at), at.at));
    }
    for (int width = 4; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lane[j] = Op::combine(lane[j], lane[j + width]);
    }
    return lane[0];
  }
  static void run(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first) {
    Acc& a = *accumulators(acc);
    a = Op::combine(a, fold(context{pointer, stride, scalars, 0, first}, n));
  }
  static void columns(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 at) {
    Acc* const a = accumulators(acc);
    for (i64 i = 0; i < n; ++i) {
      a[i] = Op::combine(a[i], Op::template lift<Acc>(E{}(context{pointer, stride, scalars, i, at}), at));
    }
  }
  static void merge(void* a, const void* b, i64 n) {
    for (i64 i = 0; i < n; ++i) {
      accumulators(a)[i] = Op::combine(accumulators(a)[i], static_cast<const Acc*>(b)[i]);
    }
  }
  static void finish(void* out, i64 out_stride, const void* acc, i64 n, i64 count) {
    for (i64 i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(static_cast<char*>(out) + i * out_stride) =
          Op::template finish<Out>(static_cast<const Acc*>(acc)[i], count);
    }
  }
  static constexpr reduce_loops loops{begin, run, columns, merge, finish};
};

}  // namespace quarry::kernels
#endif
