// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/located.cuh"
#include "kernels/narrow.cuh"
#include "kernels/params.cuh"
#include "kernels/reduce_axes.cuh"
#include "kernels/reduce_finish.cuh"
#include "kernels/reduce_places.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/total.cuh"
#include "kernels/vector.cuh"

/// What a block of a reduction does. Kept and reduced axes each have their extents and strides, so
/// any layout is read in place.
namespace quarry::kernels {

template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
struct reduce_body;

/// Along = 1, 2: consecutive threads read along the reduced axes, which have the smallest strides;
/// a block computes blockDim.y outputs. Along = 0: consecutive threads compute consecutive groups
/// of V outputs, and blockDim.y threads share the elements of each. If the last kept axis has fewer
/// than short_row groups, blockDim.x is a multiple of their number: the threads that share a row of
/// them are consecutive, so that a warp reads consecutive elements of dense memory, and a block
/// computes blockDim.y rows. Along = 3: the same, each output a group of its own. Along = 4 + n: a
/// block computes blockDim.x groups of blockDim.y rows, each thread one. Rows are of all kept axes
/// behind axis n, along which the output's neighbours are. Along = -1: as 0, of folded rows: the
/// last kept axis has a row of each of several reduced positions, one after another in memory, so
/// that its vectors are aligned. The output's stride along it is the number of its columns, the one
/// along the only reduced axis the number of elements of an incomplete row behind all others.
/// Along = -2: as 1, of rows along the last of several reduced axes, which begin and end anywhere,
/// by the aligned vectors that have some of a row: reduce_axes::extent(). gridDim.y splits the
/// reduced elements; with more than one split the partial accumulators go to `partial` as
/// [split][kept], of which reduce_finish.cuh makes the results.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = sizeof...(In) + 1, R = Rk + Rr, threads = 256;
  static constexpr bool is_folded = Along == -1, is_ragged = Along == -2;
  using P = params<K, S, R>;
  using Share = reduce_share<P, Index, Along, V, Rk>;
  static constexpr bool threads_along = Share::threads_along, is_along = Share::is_along;
  static constexpr int outputs = Share::outputs, taken = is_along ? V : 1;  // of one access
  using Lane = lane_context<P, V, Wide, In...>;
  using Value = typename before_cast<E, typename value_of<Acc>::type, Acc, Lane>::type;
  using Fold = thread_fold<Op, Acc, value_in<Value, Lane>, is_along>;
  using Part = typename Fold::type;
  using Reducer = typename Fold::reducer;
  static constexpr bool takes_batches = Reducer::takes_batches;
  static constexpr bool takes_some = requires(Part & a, const typename Fold::value_type (&v)[V]) {
    Reducer::take_some(a, v, 0, 1);
  };
  /// So much that a warp should not do it for whole vectors and for others.
  static constexpr bool merges_some = takes_some && Fold::most == 0;
  static constexpr bool is_short = sizeof...(In) == 1 && ((sizeof(In) <= 2) && ...);
  /// The axes of an extreme are walked as they are in memory. The strides of the output along them
  /// are those of positions, in elements.
  static constexpr bool is_scattered = Rr > 1 && is_located<Acc>;
  /// Loads in flight per thread: enough bytes, in batches enough elements.
  static constexpr u64 bytes = sizeof(loaded<V, Wide, 0, In...>);
  static constexpr bool is_light = bytes <= 8 || (is_short && sizeof(Part) <= 4);
  static constexpr int of_columns = bytes <= 4 ? 16 : is_light ? 8 : 4;
  static constexpr int unroll = V == 1            ? is_short && takes_batches ? 16 : 8
                                : !is_along       ? of_columns
                                : V > 8 && V < 16 ? 2
                                                  : 4;
  /// A thread finds the vector where the extreme of its share is, and the first thread of an output
  /// then looks for its place there.
  static constexpr bool seeks_vectors = is_along && V > 1 && is_located<Acc> && !is_scattered;
  /// Blocks that the registers of a multiprocessor are for, which costs these nothing; 0 is any.
  static constexpr int resident = seeks_vectors ? 8 : 0;
  static constexpr int chains =
      outputs > 1 || takes_batches ? 1 : unroll;  // of dependent additions
  template <int Lanes, unsigned Mask>
  using Loaded = loaded<Lanes, Mask, 0, In...>;

  using Axes = reduce_axes<P, K, Rk, Rr, Index, is_scattered, is_ragged ? V : 1>;
  using Offsets = typename Axes::Offsets;
  using Cursor = typename Axes::Cursor;
  using Places = reduce_places<Types, P, Axes, Index, Along, V, Wide>;
  using Vectors = typename Places::Vectors;
  using RowLanes = typename Places::RowLanes;

  template <class T>
  static __device__ void take_one(Part& sum, T value, i64 position) {
    if constexpr (is_scattered)
      take_anywhere<Op>(sum, value, position);
    else
      Reducer::take(sum, value, position);
  }
  /// The elements of the access whose first one has position `i`.
  template <int Lanes, unsigned Mask>
  static __device__ void add(const P& p, Part* sum, const Loaded<Lanes, Mask>& in, i64 i) {
    if constexpr (is_scattered && is_along && Lanes > 1) {
      add_scattered<Lanes, Mask>(p, sum, in, i);
    } else if constexpr (takes_batches && is_along && Lanes > 1) {
      add_batch<1, Lanes, Mask>(p, sum, &in, i, 0);
    } else {
#pragma unroll
      for (int lane = 0; lane < Lanes; ++lane) {
        const i64 position = is_along ? i + lane : i;
        const lane_context<P, Lanes, Mask, In...> c{p, in, position, lane};
        take_one(sum[is_along ? 0 : lane], Value{}(c), position);
      }
    }
  }
  /// A part of an access whose first lane has position `first`.
  static __device__ void add_lanes(const P& p, Part* sum, const Loaded<V, Wide>& in, i64 first,
                                   const RowLanes& lanes) {
    if constexpr (takes_some) {
      if (lanes.is_empty()) return;
      typename Fold::value_type value[V];
#pragma unroll
      for (int lane = 0; lane < V; ++lane) value[lane] = Value{}(Lane{p, in, first + lane, lane});
      return Reducer::take_some(*sum, value, lanes.first, lanes.last);
    }
    const i64 step = is_scattered ? p.stride(0, R - 1) : 1;
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      const i64 i = first + lane * step;
      if (lanes.has(lane)) take_one(*sum, Value{}(Lane{p, in, i, lane}), i);
    }
  }
  /// The next `Count` accesses of rows that begin and end at any element.
  template <int Count, int Lanes, unsigned Mask>
  requires(is_ragged) static __device__
      void take(const P& p, Cursor& cursor, Index i, Index step, Part (*chain)[outputs]) {
    Loaded<V, Wide> in[Count];
    RowLanes lanes[Count];
    i64 first[Count];
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      lanes[u] = Places::lanes_at(p, cursor);
      const Index before = lanes[u].before;
      if (!lanes[u].is_empty()) cursor.load_before(p, in[u], before);
      first[u] = cursor.position(i + u * step) - before * (is_scattered ? p.stride(0, R - 1) : 1);
      cursor.next(p);
    }
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      if (lanes[u].is_whole() && !(merges_some && Places::has_short_rows(p)))
        add<V, Wide>(p, chain[u % chains], in[u], first[u]);
      else
        add_lanes(p, chain[u % chains], in[u], first[u], lanes[u]);
    }
  }
  template <int Lanes, unsigned Mask>
  static __device__ void add_scattered(const P& p, Part* sum, const Loaded<Lanes, Mask>& in,
                                       i64 first) {
    typename Fold::value_type value[Lanes];
#pragma unroll
    for (int lane = 0; lane < Lanes; ++lane)
      value[lane] = Value{}(lane_context<P, Lanes, Mask, In...>{p, in, first, lane});
    take_vector<Op>(*sum, value, first, p.stride(0, R - 1));
  }

  /// The elements of `Count` accesses at i, i + step, ...: those of each output at once.
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void add_batch(const P& p, Part* sum, const Loaded<Lanes, Mask>* in, i64 i,
                                   i64 step) {
    constexpr int width = is_along ? Lanes : 1;
    const auto at = [=](int n) { return i + n / width * step + n % width; };
    using T = typename Fold::value_type;
    if constexpr (!is_along && outputs % 4 == 0 && is_located<Acc> && is_byte<T>) {
#pragma unroll
      for (int j = 0; j < outputs; j += 4) {
        take_columns<Op, T, Count>(sum + j, i, step, [&](int n, int k) {
          return Value{}(lane_context<P, Lanes, Mask, In...>{p, in[n], at(n), j + k});
        });
      }
    } else {
#pragma unroll
      for (int j = 0; j < outputs; ++j) {
        T value[Count * width];
#pragma unroll
        for (int n = 0; n < Count * width; ++n) {
          const int lane = is_along ? n % width : j;
          value[n] = Value{}(lane_context<P, Lanes, Mask, In...>{p, in[n / width], at(n), lane});
        }
        if constexpr (seeks_vectors)
          take_best<Op>(sum[j], value, i);
        else
          Reducer::take_all(sum[j], value, at);
      }
    }
  }

  /// The next `Count` accesses, which are in flight together.
  template <int Count, int Lanes, unsigned Mask>
  requires(!is_ragged) static __device__
      void take(const P& p, Cursor& cursor, Index i, Index step, Part (*chain)[outputs]) {
    Loaded<Lanes, Mask> in[Count];
    Index position[Count];
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      cursor.load(p, in[u], i + u * step);
      position[u] = cursor.position(i + u * step);
      cursor.next(p);
    }
    if constexpr (takes_batches && !is_scattered) {
      constexpr int all = seeks_vectors ? 1 : is_along && Lanes > 8 ? 32 / Lanes : Count;
      constexpr int most = all >= Count ? Count : Count % all == 0 ? all : 1;
#pragma unroll
      for (int u = 0; u < Count; u += most) {
        add_batch<most, Lanes, Mask>(p, chain[0], in + u, i + u * step, step);
      }
    } else {
#pragma unroll
      for (int u = 0; u < Count; ++u) add<Lanes, Mask>(p, chain[u % chains], in[u], position[u]);
    }
  }
  /// Fewer than 2 * Count accesses along a kept axis; those that are taken one by one are in flight
  /// together.
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void take_rest(const P& p, Cursor& cursor, Index i, Index end, Index step,
                                   Part (*chain)[outputs]) {
    if constexpr (!takes_batches) {
      Loaded<Lanes, Mask> in[2 * Count - 1];
#pragma unroll
      for (int u = 0; u < 2 * Count - 1; ++u) {
        if (i + u * step >= end) continue;
        cursor.load(p, in[u], i + u * step);
        cursor.next(p);
      }
#pragma unroll
      for (int u = 0; u < 2 * Count - 1; ++u) {
        if (i + u * step < end) add<Lanes, Mask>(p, chain[u % chains], in[u], i + u * step);
      }
    } else if constexpr (Count > 0) {
      if (i + (Count - 1) * step < end) {
        take<Count, Lanes, Mask>(p, cursor, i, step, chain);
        i += Count * step;
      }
      take_rest<Count / 2, Lanes, Mask>(p, cursor, i, end, step, chain);
    }
  }

  /// Reduces the accesses at begin, begin + step, ... that end by `end` into sum[outputs], in
  /// independent accumulators, so that `unroll` loads are in flight.
  template <int Lanes, unsigned Mask>
  static __device__ void walk(const P& p, const Offsets& base, Index begin, Index end, Index step,
                              Acc* sum) {
    constexpr Index width = is_along ? Lanes : 1;
    if (begin + width > end) return;
    Cursor cursor(p, base, begin, step < end - begin ? step : 0);
    Part chain[chains][outputs];
#pragma unroll
    for (int u = 0; u < chains; ++u) {
#pragma unroll
      for (int j = 0; j < outputs; ++j) chain[u][j] = Reducer::template identity<Part>();
    }
    Index i = begin;
#pragma unroll 1
    for (; i + (unroll - 1) * step + width <= end; i += unroll * step) {
      take<unroll, Lanes, Mask>(p, cursor, i, step, chain);
    }
    if constexpr (is_along) {  // the rest is a small part
#pragma unroll(V > 1 ? 1 : 4)
      for (; i + width <= end; i += step) take<1, Lanes, Mask>(p, cursor, i, step, chain);
    } else {
      take_rest<unroll / 2, Lanes, Mask>(p, cursor, i, end, step, chain);
    }
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
#pragma unroll
      for (int u = 1; u < chains; ++u) chain[0][j] = Reducer::combine(chain[0][j], chain[u][j]);
      sum[j] = Op::combine(sum[j], Fold::widened(chain[0][j]));
    }
  }

  /// The same in parts, each with as few elements of a thread as Fold allows.
  static __device__ void walk_parts(const P& p, const Offsets& base, Index begin, Index end,
                                    Index step, Acc* sum) {
    if constexpr (Fold::most == 0) {
      walk<V, Wide>(p, base, begin, end, step, sum);
    } else {
      const Index part = step / taken * Fold::most;
#pragma unroll 1
      do {
        const Index last = end - begin > part ? begin + part : end;
        walk<V, Wide>(p, base, begin, last, step, sum);
        begin += part;
      } while (begin < end);
    }
  }

  /// An element that is in no vector.
  static __device__ void take_single(const P& p, const Loaded<1, 0>& in, Index i, Acc* sum) {
    Part part = Reducer::template identity<Part>();
    add<1, 0>(p, &part, in, i);
    *sum = Op::combine(*sum, Fold::widened(part));
  }

  /// Lane `lane` of `lanes` takes its share of the reduced elements [begin, end). The first element
  /// that is in no vector is read before all vectors, and taken after them.
  static __device__ void fold(const P& p, const Offsets& base, Index begin, Index end, int lane,
                              int lanes, Acc* sum) {
    const Vectors vectors(p, base, begin, end);
    if constexpr (Along != 2) {
      walk_parts(p, base, vectors.first + lane * taken, vectors.rest, lanes * taken, sum);
    } else {
      const Index before = vectors.first - begin, single = before + (end - vectors.rest);
      const auto place = [&](Index j) {
        return j < before ? begin + j : vectors.rest + (j - before);
      };
      Loaded<1, 0> in{};
      if (lane < single) Cursor(p, base, place(lane), 0).load(p, in, place(lane));
      walk_parts(p, base, vectors.first + lane * taken, vectors.rest, lanes * taken, sum);
#pragma unroll 1
      for (Index j = lane; j < single; j += lanes) {
        if (j != lane) Cursor(p, base, place(j), 0).load(p, in, place(j));
        take_single(p, in, place(j), sum);
      }
    }
  }

  /// From the position of a vector, one of those of [begin, end), to that of its extreme.
  static __device__ void seek(const P& p, const Offsets& base, Index begin, Index end, Acc& found) {
    const Vectors vectors(p, base, begin, end);
    if (found.index < vectors.first || found.index >= vectors.rest) return;
    const Index i = static_cast<Index>(found.index);
    Loaded<V, Wide> in;
    Cursor(p, base, i, 0).load(p, in, i);
    typename Fold::value_type value[V];
#pragma unroll
    for (int lane = 0; lane < V; ++lane) value[lane] = Value{}(Lane{p, in, i + lane, lane});
    found.index += Op::place_of(found.value, value);
  }

  /// Combines the accumulators of the threads that share an output; valid in the first of them.
  static __device__ void total(Acc (&sum)[outputs], const lane_of& me) {
    constexpr int most = threads_along ? threads / 32 : threads * outputs;
    alignas(16) __shared__ char storage[most * sizeof(Acc)];
    if constexpr (threads_along)
      sum[0] = total_along<Op>(reinterpret_cast<Acc*>(storage), sum[0]);
    else
      total_of_lanes<Op>(reinterpret_cast<Acc*>(storage), sum, me);
  }

  static __device__ void run(const P& p, Acc* partial) {
    wait_for_stream();
    const i64 kept = p.kept(), reduced = Places::reduced(p), chunk = p.chunk();
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
    total(sum, share.me);
    if (share.me.lane != 0 || output >= kept) return;
    if constexpr (seeks_vectors)
      seek(p, base, static_cast<Index>(begin), static_cast<Index>(end), sum[0]);
    if constexpr (is_folded) return store_folded(p, base, sum, static_cast<Index>(output), partial);
    if (!partial) {
      const i64 apart = Rk > 0 ? p.stride(0, Rk > 0 ? Rk - 1 : 0) : 0;
      return store_results<Op, Out, outputs>(p, p.template pointer<char>(0) + base.of[0], apart,
                                             sum);
    }
#pragma unroll
    for (int j = 0; j < outputs; ++j) partial[blockIdx.y * kept + output + j] = sum[j];
  }

  /// The accumulators of folded rows, as if they were of more splits. Those of the first split take
  /// the incomplete row.
  static __device__ void store_folded(const P& p, const Offsets& base, Acc* sum, Index output,
                                      Acc* partial) {
    const Index row = static_cast<Index>(p.extent(Rk - 1)), last = static_cast<Index>(p.reduced());
    const Index columns = static_cast<Index>(p.stride(0, Rk - 1)), rows = row / columns;
    const Index before = output / row, rest = static_cast<Index>(p.stride(0, R - 1));
    const i64 kept = p.kept() / rows;
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
      const Index place = output - before * row + j, part = place / columns;
      if (Rr == 1 && blockIdx.y == 0 && place < rest) {
        Offsets at = base;
#pragma unroll
        for (int k = 1; k < K; ++k) at.of[k] += j * static_cast<Index>(p.stride(k, Rk - 1));
        Loaded<1, 0> in;
        Cursor(p, at, last, 0).load(p, in, last);
        take_single(p, in, last, sum + j);
      }
      const i64 split = blockIdx.y * static_cast<i64>(rows) + part;
      partial[split * kept + before * columns + (place - part * columns)] = sum[j];
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

}  // namespace quarry::kernels
