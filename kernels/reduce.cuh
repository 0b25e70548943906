// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/params.cuh"
#include "kernels/total.cuh"
#include "kernels/vector.cuh"

/// The kernels of reductions. Kept and reduced axes each have their extents and strides, so any
/// layout is read in place.
namespace quarry::kernels {

template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
struct reduce_body;

/// Along > 0: consecutive threads read along the reduced axes, which have the smallest strides; a
/// block computes blockDim.y outputs. Along = 0: consecutive threads compute consecutive groups of
/// V outputs, and blockDim.y threads share the elements of each. If the last kept axis has fewer
/// than short_row groups, blockDim.x is a multiple of their number: the threads that share a row of
/// them are consecutive, so that a warp reads consecutive elements of dense memory, and a block
/// computes blockDim.y rows. gridDim.y splits the reduced elements; with more than one split the
/// partial accumulators go to `partial` as [split][kept], and reduce_finish combines them in order.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = sizeof...(In) + 1, R = Rk + Rr, threads = 256;
  static constexpr int unroll = V > 1 ? 4 : 8;  // loads in flight per thread
  static constexpr int outputs = Along ? 1 : V, taken = Along ? V : 1;  // of one access
  static constexpr bool takes_batches = Op::takes_batches;
  static constexpr int chains =
      outputs > 1 || takes_batches ? 1 : unroll;  // of dependent additions
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

  static __device__ Index wrapped_sum(Index a, Index b) {
    return static_cast<Index>(static_cast<u64>(a) + static_cast<u64>(b));
  }

  /// Reduced positions i, i + step, ...: of several axes only the first one costs divisions, on one
  /// axis each is a multiplication.
  struct Cursor {
    Offsets at, by{};
    Index digit[Rr], step_digit[Rr];
    __device__ Cursor(const P& p, const Offsets& base, Index i, Index step) : at(base) {
      if constexpr (Rr > 1) {
        at.advance(p, i, Rk, R, digit);
        by.advance(p, step, Rk, R, step_digit);
      }
    }
    /// `i` is the position that the cursor has reached.
    template <class L>
    __device__ void load(const P& p, L& in, Index i) const {
      const char* from[K];
#pragma unroll
      for (int k = 1; k < K; ++k) {
        const Index along = Rr == 1 ? i * static_cast<Index>(p.stride(k, R - 1)) : 0;
        from[k - 1] = p.template pointer<const char>(k) + (at.of[k] + along);
      }
      in.load(from);
    }
    /// The last one leads to offsets that are not used, and may be too large for Index.
    __device__ void next(const P& p) {
      if constexpr (Rr > 1) {
#pragma unroll
        for (int k = 1; k < K; ++k) at.of[k] = wrapped_sum(at.of[k], by.of[k]);
#pragma unroll
        for (int d = Rr - 1; d > 0; --d) {
          const Index extent = static_cast<Index>(p.extent(Rk + d));
          digit[d] += step_digit[d];
          if (digit[d] < extent) continue;
          digit[d] -= extent;
          digit[d - 1] += 1;
#pragma unroll
          for (int k = 1; k < K; ++k) {
            const i64 carry = p.stride(k, Rk + d - 1) - p.extent(Rk + d) * p.stride(k, Rk + d);
            at.of[k] = wrapped_sum(at.of[k], static_cast<Index>(carry));
          }
        }
      }
    }
  };

  template <int Lanes, unsigned Mask>
  static __device__ void add(const P& p, Acc* sum, const Loaded<Lanes, Mask>& in, i64 i) {
    if constexpr (takes_batches && Along && Lanes > 1) {
      add_batch<1, Lanes, Mask>(p, sum, &in, i, 0);
    } else {
#pragma unroll
      for (int lane = 0; lane < Lanes; ++lane) {
        const i64 position = Along ? i + lane : i;
        const lane_context<P, Lanes, Mask, In...> c{p, in, position, lane};
        Op::take(sum[Along ? 0 : lane], E{}(c), position);
      }
    }
  }

  /// The elements of `Count` accesses at i, i + step, ...: those of each output at once.
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void add_batch(const P& p, Acc* sum, const Loaded<Lanes, Mask>* in, i64 i,
                                   i64 step) {
    constexpr int width = Along ? Lanes : 1;
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
      decltype(E{}(lane_context<P, Lanes, Mask, In...>{p, in[0], i, 0})) value[Count * width];
#pragma unroll
      for (int n = 0; n < Count * width; ++n) {
        const int lane = Along ? n % width : j;
        const i64 position = i + n / width * step + n % width;
        value[n] = E{}(lane_context<P, Lanes, Mask, In...>{p, in[n / width], position, lane});
      }
      Op::take_all(sum[j], value, [=](int n) { return i + n / width * step + n % width; });
    }
  }

  /// Reduces the accesses at begin, begin + step, ... that end by `end` into sum[outputs], in
  /// independent accumulators, so that `unroll` loads are in flight.
  template <int Lanes, unsigned Mask>
  static __device__ void walk(const P& p, const Offsets& base, Index begin, Index end, Index step,
                              Acc* sum) {
    constexpr Index width = Along ? Lanes : 1;
    if (begin + width > end) return;
    Cursor cursor(p, base, begin, step < end - begin ? step : 0);
    Acc chain[chains][outputs];
#pragma unroll
    for (int u = 0; u < chains; ++u) {
#pragma unroll
      for (int j = 0; j < outputs; ++j) chain[u][j] = Op::template identity<Acc>();
    }
    Index i = begin;
#pragma unroll 1
    for (; i + (unroll - 1) * step + width <= end; i += unroll * step) {
      Loaded<Lanes, Mask> in[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        cursor.load(p, in[u], i + u * step);
        cursor.next(p);
      }
      if constexpr (takes_batches) {
        constexpr int most = Along && Lanes > 8 ? 32 / Lanes : unroll;
#pragma unroll
        for (int u = 0; u < unroll; u += most) {
          add_batch<most, Lanes, Mask>(p, chain[0], in + u, i + u * step, step);
        }
      } else {
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
          add<Lanes, Mask>(p, chain[u % chains], in[u], i + u * step);
        }
      }
    }
#pragma unroll(V > 1 ? 1 : 4)
    for (; i + width <= end; i += step) {
      Loaded<Lanes, Mask> in;
      cursor.load(p, in, i);
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
  static __device__ Index before_vectors(const P& p, const Offsets& base, Index begin, Index end) {
    constexpr int k = first_wide();
    const u64 size = Types::size_of(k);
    const u64 from = p.address(k) + static_cast<u64>(base.of[k]) + static_cast<u64>(begin) * size;
    const Index odd = static_cast<Index>(from / size % V), head = odd == 0 ? 0 : V - odd;
    return head < end - begin ? head : end - begin;
  }

  /// Reduces the elements at begin, begin + step, ..., which are in no vector.
  static __device__ void take_single(const P& p, const Offsets& base, Index begin, Index end,
                                     Index step, Acc* sum) {
#pragma unroll 1
    for (Index i = begin; i < end; i += step) {
      Loaded<1, 0> in;
      Cursor(p, base, i, 0).load(p, in, i);
      add<1, 0>(p, sum, in, i);
    }
  }

  /// Lane `lane` of `lanes` takes its share of the reduced elements [begin, end).
  static __device__ void fold(const P& p, const Offsets& base, Index begin, Index end, int lane,
                              int lanes, Acc* sum) {
    if constexpr (Along == 2) {
      const Index first = begin + before_vectors(p, base, begin, end);
      const Index rest = first + (end - first) / V * V;
      take_single(p, base, begin + lane, first, lanes, sum);
      walk<V, Wide>(p, base, first + lane * V, rest, lanes * V, sum);
      take_single(p, base, rest + lane, end, lanes, sum);
    } else {
      walk<V, Wide>(p, base, begin + lane * taken, end, lanes * taken, sum);
    }
  }

  /// Combines the accumulators of the threads that share an output; valid in the first of them.
  static __device__ Acc total(Acc sum, const lane_of& me) {
    alignas(16) __shared__ char storage[(Along ? threads / 32 : threads) * sizeof(Acc)];
    if constexpr (Along)
      return total_along<Op>(reinterpret_cast<Acc*>(storage), sum);
    else
      return total_of_lanes<Op>(reinterpret_cast<Acc*>(storage), sum, me);
  }

  /// The first output of a thread, and its share of the elements.
  struct Share {
    lane_of me;
    i64 output;
    __device__ explicit Share(const P& p) {
      const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
      const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y);
      const i64 row = blockIdx.x * static_cast<i64>(by) + y;
      if constexpr (Along) {
        me = {x, bx, 1};
        output = row;
      } else {
        const i64 columns = Rk > 0 ? p.extent(Rk > 0 ? Rk - 1 : 0) / V : 1;
        if (columns < short_row) {
          const int apart = static_cast<int>(columns);
          me = {x / apart, bx / apart, apart};
          output = (row * columns + x % apart) * V;
        } else {
          me = {y, by, bx};
          output = (blockIdx.x * static_cast<i64>(bx) + x) * V;
        }
      }
    }
  };

  static __device__ void run(const P& p, Acc* partial) {
    const i64 kept = p.kept(), reduced = p.reduced(), chunk = p.chunk();
    const Share share(p);
    const i64 output = share.output, begin = blockIdx.y * chunk;
    const i64 end = begin + chunk < reduced ? begin + chunk : reduced;
    Offsets base{};
    Acc sum[outputs];
#pragma unroll
    for (int j = 0; j < outputs; ++j) sum[j] = Op::template identity<Acc>();
    if (output < kept) {
      base.advance(p, static_cast<Index>(output), 0, Rk);
      fold(p, base, static_cast<Index>(begin), static_cast<Index>(end), share.me.lane,
           share.me.lanes, sum);
    }
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
      const Acc all = total(sum[j], share.me);
      if (share.me.lane != 0 || output >= kept) continue;
      if (partial) {
        partial[blockIdx.y * kept + output + j] = all;
      } else {
        const Index to = base.of[0] + (j > 0 ? j * static_cast<Index>(p.stride(0, Rk - 1)) : 0);
        *reinterpret_cast<Out*>(p.template pointer<char>(0) + to) =
            Op::template finish<Out>(all, block_total<P>{p});
      }
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// A block has at most 256 threads; with Along blockDim.x is a power of two. V > 1 is for inputs
/// that are dense along an axis (bit k of Wide for input k) or have the stride 0 along it:
///   Along = 0  the last kept axis; V divides its extent, and vectors are aligned
///   Along = 1  the last reduced axis; V divides its extent and the chunks, and vectors are aligned
///   Along = 2  the only reduced axis; V divides the chunks, and at every output the dense inputs
///              are equally far from an aligned vector
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
      sum = total_of_lanes<Op>(reinterpret_cast<Acc*>(storage), sum,
                               {y, static_cast<int>(blockDim.y), static_cast<int>(blockDim.x)});
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
