// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/located.cuh"
#include "kernels/narrow.cuh"
#include "kernels/params.cuh"
#include "kernels/reduce_axes.cuh"
#include "kernels/reduce_places.cuh"
#include "kernels/vector.cuh"

/// How a thread of a reduction walks through its elements: several accesses are in flight, and what
/// they have read goes to independent accumulators.
namespace quarry::kernels {

/// Whether an expression is an input as it is, or converted.
template <class E>
inline constexpr bool is_input = false;
template <class T, int K>
inline constexpr bool is_input<in<T, K>> = true;
template <class T, class A>
inline constexpr bool is_input<cast<T, A>> = is_input<A>;

/// The arguments are those of reduce_body.
template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
struct reduce_walk;
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_walk<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = sizeof...(In) + 1, R = Rk + Rr, threads = 256;
  static constexpr bool is_folded = Along == -1, is_ragged = Along == -2, is_run = Along == -3;
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
  /// Four outputs at once, of bytes.
  static constexpr bool takes_columns = !is_along && outputs % 4 == 0 &&
                                        is_byte<typename Fold::value_type> &&
                                        requires(Part * a, const u32 (&row)[4]) {
    Reducer::template take_columns<typename Fold::value_type>(a, row, 0);
  };
  /// So much that a warp should not do it for whole vectors and for others.
  static constexpr bool merges_some = takes_some && Fold::most == 0;
  /// So much that several vectors are one batch. A user function would be called for what is in
  /// accesses without elements of the row, which are not loaded.
  static constexpr bool joins_some = merges_some && !calls_user_functions<E>;
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
  static constexpr int chains =
      outputs > 1 || takes_batches ? 1 : unroll;  // of dependent additions
  /// Whether the loads of the next batch are issued before the elements of this one are taken. The
  /// compiler would take the first elements of a batch before it loads the last ones. In rows of
  /// inputs as they are, if that needs no more than the registers of four blocks.
  static constexpr bool loads_ahead = threads_along && V > 1 && !is_ragged && is_input<E> &&
                                      !is_located<Acc> && !merges_some && unroll * bytes <= 64 &&
                                      chains * sizeof(Part) <= 64;
  /// Blocks that the registers of a multiprocessor are for, which costs these nothing; 0 is any.
  static constexpr int resident = seeks_vectors ? 8 : loads_ahead ? 4 : 0;
  template <int Lanes, unsigned Mask>
  using Loaded = loaded<Lanes, Mask, 0, In...>;

  using Axes = reduce_axes<P, K, Rk, Rr, Index, is_scattered, is_ragged ? V : 1, is_run>;
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
    if constexpr (is_run && Lanes > 1) {
      add_run<1, Lanes, Mask>(p, *sum, &in, static_cast<Index>(i), 0);
    } else if constexpr (is_scattered && is_along && Lanes > 1) {
      add_scattered<Lanes, Mask>(p, sum, in, i);
    } else if constexpr (takes_batches && is_along && Lanes > 1) {
      add_batch<1, Lanes, Mask>(p, sum, &in, i, 0);
    } else {
#pragma unroll
      for (int lane = 0; lane < Lanes; ++lane) {
        const i64 position = is_along ? i + lane : i;
        const lane_context<P, Lanes, Mask, In...> c{p, in, position, lane};
        take_one(sum[is_along ? 0 : lane], Value{}(c),
                 is_run ? Axes::position_in_run(p, i) : position);
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
  /// Parts of several accesses at once.
  template <int Count>
  static __device__ void add_joined(const P& p, Part* sum, const Loaded<V, Wide> (&in)[Count],
                                    const RowLanes (&lanes)[Count], const i64 (&first)[Count]) {
    constexpr int all = Count * V;
    typename Fold::value_type value[all];
    int count = 0;
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      if (!lanes[u].is_empty()) count += lanes[u].last - lanes[u].first;
#pragma unroll
      for (int lane = 0; lane < V; ++lane)
        value[u * V + lane] = Value{}(Lane{p, in[u], first[u] + lane, lane});
    }
    if (count == all && !Places::has_short_rows(p)) {
      Reducer::take_some(*sum, value, 0, all);
    } else if (count > 0) {
      Reducer::take_those(*sum, value, count, [&](int n) { return lanes[n / V].has(n % V); });
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
    if constexpr (joins_some) {
      add_joined<Count>(p, chain[0], in, lanes, first);
    } else {
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (lanes[u].is_whole() && !(merges_some && Places::has_short_rows(p)))
          add<V, Wide>(p, chain[u % chains], in[u], first[u]);
        else
          add_lanes(p, chain[u % chains], in[u], first[u], lanes[u]);
      }
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
  /// The elements of `Count` accesses of a run, at i, i + step, ...
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void add_run(const P& p, Part& sum, const Loaded<Lanes, Mask>* in, Index i,
                                 Index step) {
    typename Fold::value_type value[Count][Lanes];
#pragma unroll
    for (int n = 0; n < Count * Lanes; ++n)
      value[n / Lanes][n % Lanes] =
          Value{}(lane_context<P, Lanes, Mask, In...>{p, in[n / Lanes], 0, n % Lanes});
    take_rows<Op>(sum, value, p, [&](int u) { return typename Axes::RunRows(p, i + u * step); });
  }

  /// The elements of `Count` accesses at i, i + step, ...: those of each output at once.
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void add_batch(const P& p, Part* sum, const Loaded<Lanes, Mask>* in, i64 i,
                                   i64 step) {
    constexpr int width = is_along ? Lanes : 1;
    const auto at = [=](int n) { return i + n / width * step + n % width; };
    using T = typename Fold::value_type;
    if constexpr (takes_columns) {
#pragma unroll
      for (int j = 0; j < outputs; j += 4) {
        u32 row[Count];
#pragma unroll
        for (int n = 0; n < Count; ++n) {
          const lane_context<P, Lanes, Mask, In...> c[] = {{p, in[n], at(n), j},
                                                           {p, in[n], at(n), j + 1},
                                                           {p, in[n], at(n), j + 2},
                                                           {p, in[n], at(n), j + 3}};
          const T four[] = {Value{}(c[0]), Value{}(c[1]), Value{}(c[2]), Value{}(c[3])};
          row[n] = four_bytes(four);
        }
        Reducer::template take_columns<T>(sum + j, row, at);
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

  /// Consecutive accesses, which are in flight together.
  template <int Count, int Lanes, unsigned Mask>
  struct Batch {
    Loaded<Lanes, Mask> in[Count];
    Index position[Count];

    static __device__ bool has(int u, Index i, Index end, Index step) {
      return i + u * step + (is_along ? Lanes : 1) <= end;
    }
    /// The first one is at `i`.
    __device__ void load(const P& p, Cursor& cursor, Index i, Index step) {
      load_if(p, cursor, i, step, [](int) { return true; });
    }
    /// Of a batch that may not be whole those that end by `end`.
    __device__ void load_rest(const P& p, Cursor& cursor, Index i, Index end, Index step) {
      load_if(p, cursor, i, step, [=](int u) { return has(u, i, end, step); });
    }
    __device__ void take_rest(const P& p, Index i, Index end, Index step,
                              Part (*chain)[outputs]) const {
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (has(u, i, end, step)) add<Lanes, Mask>(p, chain[u % chains], in[u], position[u]);
      }
    }
    __device__ void take(const P& p, Index i, Index step, Part (*chain)[outputs]) const {
      if constexpr (is_run && Lanes > 1) {
        add_run<Count, Lanes, Mask>(p, chain[0][0], in, i, step);
      } else if constexpr (takes_batches && !is_scattered) {
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

   private:
    template <class F>
    __device__ void load_if(const P& p, Cursor& cursor, Index i, Index step, const F& is_there) {
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (!is_there(u)) continue;
        cursor.load(p, in[u], i + u * step);
        position[u] = cursor.position(i + u * step);
        cursor.next(p);
      }
    }
  };
  template <int Count, int Lanes, unsigned Mask>
  requires(!is_ragged) static __device__
      void take(const P& p, Cursor& cursor, Index i, Index step, Part (*chain)[outputs]) {
    Batch<Count, Lanes, Mask> batch;
    batch.load(p, cursor, i, step);
    batch.take(p, i, step, chain);
  }
  /// Fewer than 2 * Count accesses along a kept axis; those that are taken one by one are in flight
  /// together.
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void take_rest(const P& p, Cursor& cursor, Index i, Index end, Index step,
                                   Part (*chain)[outputs]) {
    if constexpr (!takes_batches) {
      Batch<2 * Count - 1, Lanes, Mask> rest;
      rest.load_rest(p, cursor, i, end, step);
      rest.take_rest(p, i, end, step, chain);
    } else if constexpr (Count > 0) {
      if (i + (Count - 1) * step < end) {
        take<Count, Lanes, Mask>(p, cursor, i, step, chain);
        i += Count * step;
      }
      take_rest<Count / 2, Lanes, Mask>(p, cursor, i, end, step, chain);
    }
  }

  /// The accesses at i, i + step, ... that end by `end`.
  template <int Lanes, unsigned Mask>
  static __device__ void take_all(const P& p, Cursor& cursor, Index i, Index end, Index step,
                                  Part (*chain)[outputs]) {
    constexpr Index width = is_along ? Lanes : 1;
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
  }
  /// The same, while a batch is taken with the next one in flight, or what is left behind the last.
  template <int Lanes, unsigned Mask>
  static __device__ void take_ahead(const P& p, Cursor& cursor, Index i, Index end, Index step,
                                    Part (*chain)[outputs]) {
    using Some = Batch<unroll, Lanes, Mask>;
    const Index all = unroll * step;
    Some now, next;
    const bool has_one = Some::has(unroll - 1, i, end, step);
    if (has_one) {
      now.load(p, cursor, i, step);
#pragma unroll 1
      for (i += all; Some::has(unroll - 1, i, end, step); i += all) {
        next.load(p, cursor, i, step);
        now.take(p, i - all, step, chain);
        now = next;
      }
    }
    next.load_rest(p, cursor, i, end, step);
    if (has_one) now.take(p, i - all, step, chain);
    next.take_rest(p, i, end, step, chain);
  }

  /// Reduces the accesses at begin, begin + step, ... that end by `end` into sum[outputs].
  template <int Lanes, unsigned Mask>
  static __device__ void walk(const P& p, const Offsets& base, Index begin, Index end, Index step,
                              Acc* sum) {
    if (begin + (is_along ? Lanes : 1) > end) return;
    Cursor cursor(p, base, begin, step < end - begin ? step : 0);
    Part chain[chains][outputs];
#pragma unroll
    for (int u = 0; u < chains; ++u) {
#pragma unroll
      for (int j = 0; j < outputs; ++j) chain[u][j] = Reducer::template identity<Part>();
    }
    if constexpr (loads_ahead)
      take_ahead<Lanes, Mask>(p, cursor, begin, end, step, chain);
    else
      take_all<Lanes, Mask>(p, cursor, begin, end, step, chain);
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
  using param_type = P;
};

}  // namespace quarry::kernels
