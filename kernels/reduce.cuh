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

/// Combines the accumulators of the threads with the same threadIdx.x; the result is valid where
/// threadIdx.y is 0. Called by all threads of the block, for each of which `shared` has an element.
template <class Op, class Acc>
__device__ Acc column_total(Acc* shared, Acc sum) {
  const int y = static_cast<int>(threadIdx.y), bx = static_cast<int>(blockDim.x);
  const int slot = y * bx + static_cast<int>(threadIdx.x);
  shared[slot] = sum;
#pragma unroll 1
  for (int rows = static_cast<int>(blockDim.y); rows > 1; rows = (rows + 1) / 2) {
    const int half = (rows + 1) / 2;
    __syncthreads();
    if (y + half < rows) shared[slot] = Op::combine(shared[slot], shared[slot + half * bx]);
  }
  sum = shared[slot];
  __syncthreads();  // the memory is used again
  return sum;
}

template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
struct reduce_body;

/// Along = 1: consecutive threads read along the reduced axes, which have the smallest strides; a
/// block computes blockDim.y outputs. Along = 0: consecutive threads compute consecutive groups of
/// V outputs, and blockDim.y threads share the elements of each. gridDim.y splits the reduced
/// elements; with more than one split the partial accumulators go to `partial` as [split][kept],
/// and reduce_finish combines them in order.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = sizeof...(In) + 1, R = Rk + Rr, threads = 256;
  static constexpr int unroll = V > 1 ? 4 : 8;  // loads in flight per thread
  static constexpr int outputs = Along ? 1 : V, taken = Along ? V : 1;  // of one access
  static constexpr int chains = outputs > 1 ? 1 : unroll;               // of dependent additions
  using P = params<K, S, R>;
  template <int Lanes, unsigned Mask>
  using Loaded = loaded<Lanes, Mask, 0, In...>;

  /// Byte offsets of all operands.
  struct Offsets {
    Index of[K];
    /// To position `i` of the axes [first, last), in C order; their indices go to `digit`.
    __device__ void advance(const P& p, Index i, int first, int last, Index* digit = nullptr) {
#pragma unroll
      for (int d = R - 1; d >= 0; --d) {
        if (d < first || d >= last) continue;
        Index j = i;
        if (d > first) {
          const Index extent = static_cast<Index>(p.extent(d)), next = i / extent;
          j = i - next * extent;
          i = next;
        }
        if (digit) digit[d - first] = j;
#pragma unroll
        for (int k = 0; k < K; ++k) of[k] += j * static_cast<Index>(p.stride(k, d));
      }
    }
  };

  /// Reduced positions i, i + step, ...: only the first one costs divisions.
  struct Cursor {
    Offsets at, by{};
    Index digit[Rr], step_digit[Rr];
    __device__ Cursor(const P& p, const Offsets& base, i64 i, i64 step) : at(base) {
      at.advance(p, static_cast<Index>(i), Rk, R, digit);
      by.advance(p, static_cast<Index>(step), Rk, R, step_digit);
    }
    template <class L>
    __device__ void load(const P& p, L& in) const {
      const char* from[K];
#pragma unroll
      for (int k = 1; k < K; ++k) from[k - 1] = p.template pointer<const char>(k) + at.of[k];
      in.load(from);
    }
    __device__ void next(const P& p) {
#pragma unroll
      for (int k = 1; k < K; ++k) at.of[k] += by.of[k];
#pragma unroll
      for (int d = Rr - 1; d > 0; --d) {
        const Index extent = static_cast<Index>(p.extent(Rk + d));
        digit[d] += step_digit[d];
        if (digit[d] < extent) continue;
        digit[d] -= extent;
        digit[d - 1] += 1;
#pragma unroll
        for (int k = 1; k < K; ++k) {
          at.of[k] += static_cast<Index>(p.stride(k, Rk + d - 1)) -
                      extent * static_cast<Index>(p.stride(k, Rk + d));
        }
      }
    }
  };

  template <int Lanes, unsigned Mask>
  static __device__ void add(const P& p, Acc* sum, const Loaded<Lanes, Mask>& in, i64 i) {
#pragma unroll
    for (int lane = 0; lane < Lanes; ++lane) {
      const i64 position = Along ? i + lane : i;
      const lane_context<P, Lanes, Mask, In...> c{p, in, position, lane};
      Op::take(sum[Along ? 0 : lane], E{}(c), position);
    }
  }

  /// Reduces the accesses at begin, begin + step, ... that end by `end` into sum[outputs], in
  /// independent accumulators, so that `unroll` loads are in flight.
  template <int Lanes, unsigned Mask>
  static __device__ void walk(const P& p, const Offsets& base, i64 begin, i64 end, i64 step,
                              Acc* sum) {
    constexpr int width = Along ? Lanes : 1;
    if (begin + width > end) return;
    Cursor cursor(p, base, begin, step < end - begin ? step : 0);
    Acc chain[chains][outputs];
#pragma unroll
    for (int u = 0; u < chains; ++u) {
#pragma unroll
      for (int j = 0; j < outputs; ++j) chain[u][j] = Op::template identity<Acc>();
    }
    i64 i = begin;
#pragma unroll 1
    for (; i + (unroll - 1) * step + width <= end; i += unroll * step) {
      Loaded<Lanes, Mask> in[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        cursor.load(p, in[u]);
        cursor.next(p);
      }
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        add<Lanes, Mask>(p, chain[u % chains], in[u], i + u * step);
      }
    }
#pragma unroll(V > 1 ? 1 : 4)
    for (; i + width <= end; i += step) {
      Loaded<Lanes, Mask> in;
      cursor.load(p, in);
      cursor.next(p);
      add<Lanes, Mask>(p, chain[0], in, i);
    }
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
#pragma unroll
      for (int u = 1; u < chains; ++u) chain[0][j] = Op::combine(chain[0][j], chain[u][j]);
      sum[j] = Op::combine(sum[j], chain[0][j]);
    }
  }

  QUARRY_HD static constexpr int first_wide() {
    int k = 0;
    while (k < K - 2 && (Wide >> k & 1u) == 0) ++k;
    return k + 1;
  }
  /// How many elements lie before the first whole vector of a row that begins at `base`.
  static __device__ i64 before_vectors(const P& p, const Offsets& base, i64 begin, i64 end) {
    constexpr int k = first_wide();
    const u64 size = Types::size_of(k);
    const u64 from = p.address(k) + static_cast<u64>(base.of[k]) + static_cast<u64>(begin) * size;
    const i64 odd = static_cast<i64>(from / size % V), head = odd == 0 ? 0 : V - odd;
    return head < end - begin ? head : end - begin;
  }

  /// Reduces the elements at begin, begin + step, ..., which are in no vector.
  static __device__ void take_single(const P& p, const Offsets& base, i64 begin, i64 end, i64 step,
                                     Acc* sum) {
#pragma unroll 1
    for (i64 i = begin; i < end; i += step) {
      Loaded<1, 0> in;
      Cursor(p, base, i, 0).load(p, in);
      add<1, 0>(p, sum, in, i);
    }
  }

  /// Lane `lane` of `lanes` takes its share of the reduced elements [begin, end).
  static __device__ void fold(const P& p, const Offsets& base, i64 begin, i64 end, int lane,
                              int lanes, Acc* sum) {
    if constexpr (Along && V > 1 && Rr == 1) {
      const i64 first = begin + before_vectors(p, base, begin, end);
      const i64 rest = first + (end - first) / V * V;
      take_single(p, base, begin + lane, first, lanes, sum);
      walk<V, Wide>(p, base, first + lane * V, rest, static_cast<i64>(lanes) * V, sum);
      take_single(p, base, rest + lane, end, lanes, sum);
    } else {
      walk<V, Wide>(p, base, begin + lane * taken, end, static_cast<i64>(lanes) * taken, sum);
    }
  }

  /// Combines the accumulators of the threads that share an output and are consecutive; the result
  /// is valid in the first of them.
  static __device__ Acc total_along(Acc sum) {
    alignas(16) __shared__ char storage[threads / 32 * sizeof(Acc)];
    Acc* const shared = reinterpret_cast<Acc*>(storage);
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
  /// The same of threads that are blockDim.x apart.
  static __device__ Acc total_across(Acc sum) {
    alignas(16) __shared__ char storage[threads * sizeof(Acc)];
    return column_total<Op>(reinterpret_cast<Acc*>(storage), sum);
  }

  static __device__ void run(const P& p, Acc* partial) {
    const i64 kept = p.kept(), reduced = p.reduced(), chunk = p.chunk();
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y);
    const i64 output =
        Along ? blockIdx.x * static_cast<i64>(by) + y : (blockIdx.x * static_cast<i64>(bx) + x) * V;
    const i64 begin = blockIdx.y * chunk, end = begin + chunk < reduced ? begin + chunk : reduced;
    Offsets base{};
    Acc sum[outputs];
#pragma unroll
    for (int j = 0; j < outputs; ++j) sum[j] = Op::template identity<Acc>();
    if (output < kept) {
      base.advance(p, static_cast<Index>(output), 0, Rk);
      fold(p, base, begin, end, Along ? x : y, Along ? bx : by, sum);
    }
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
      const Acc total = Along ? total_along(sum[j]) : total_across(sum[j]);
      if ((Along ? x : y) != 0 || output >= kept) continue;
      if (partial) {
        partial[blockIdx.y * kept + output + j] = total;
      } else {
        const Index to = base.of[0] + (j > 0 ? j * static_cast<Index>(p.stride(0, Rk - 1)) : 0);
        *reinterpret_cast<Out*>(p.template pointer<char>(0) + to) =
            Op::template finish<Out>(total, block_total<P>{p});
      }
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// A block has at most 256 threads; with Along blockDim.x is a power of two. V > 1 is for inputs
/// that are dense along an axis (bit k of Wide for input k) or do not move along it:
///   Along = 1  the last reduced axis. With one reduced axis the dense inputs are as far from an
///              aligned vector as each other at every output; else vectors are aligned, and V
///              divides the axis and the chunks.
///   Along = 0  the last kept axis, which V divides; vectors are aligned.
template <class M, int Rk, int Rr, int IndexBytes, int Along, int V = 1, unsigned Wide = 0>
__global__ void __launch_bounds__(256)
    reduce(const __grid_constant__
           typename reduce_body<M, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>::param_type p,
           void* partial) {
  using Body = reduce_body<M, Rk, Rr, index_of<IndexBytes>, Along, V, Wide>;
  Body::run(p, static_cast<typename Body::acc_type*>(partial));
}

template <class M, int Rk, int Rr>
struct reduce_finish_body;

/// Combines the `splits` partial accumulators of every output, in order; blockDim.y threads share
/// them.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr>
struct reduce_finish_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr> {
  using P = params<sizeof...(In) + 1, S, Rk + Rr>;

  static __device__ i64 offset_of(const P& p, i64 output) {
    i64 offset = 0;
#pragma unroll
    for (int d = Rk - 1; d >= 0; --d) {
      const i64 next = d > 0 ? output / p.extent(d) : 0;
      offset += (output - next * p.extent(d)) * p.stride(0, d);
      output = next;
    }
    return offset;
  }

  static __device__ void run(const P& p, const Acc* partial, i64 splits) {
    alignas(16) __shared__ char storage[128 * sizeof(Acc)];
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const i64 kept = p.kept();
#pragma unroll 1
    for (i64 first = blockIdx.x * static_cast<i64>(blockDim.x); first < kept;
         first += static_cast<i64>(gridDim.x) * blockDim.x) {
      const i64 output = first + x;
      Acc sum = Op::template identity<Acc>();
      if (output < kept) {
#pragma unroll 4
        for (i64 s = y; s < splits; s += blockDim.y) {
          sum = Op::combine(sum, partial[s * kept + output]);
        }
      }
      sum = column_total<Op>(reinterpret_cast<Acc*>(storage), sum);
      if (y != 0 || output >= kept) continue;
      *reinterpret_cast<Out*>(p.template pointer<char>(0) + offset_of(p, output)) =
          Op::template finish<Out>(sum, block_total<P>{p});
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// A block has at most 128 threads.
template <class M, int Rk, int Rr>
__global__ void __launch_bounds__(128)
    reduce_finish(const __grid_constant__ typename reduce_finish_body<M, Rk, Rr>::param_type p,
                  const void* partial, i64 splits) {
  using Body = reduce_finish_body<M, Rk, Rr>;
  Body::run(p, static_cast<const typename Body::acc_type*>(partial), splits);
}

}  // namespace quarry::kernels
