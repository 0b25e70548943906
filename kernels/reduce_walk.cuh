// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/reduce_axes.cuh"
#include "kernels/reduce_batches.cuh"

/// How a thread of a reduction walks through its elements: several accesses are in flight, and what
/// they have read goes to independent accumulators.
namespace quarry::kernels {

/// The arguments are those of reduce_body.
template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide>
struct reduce_walk;
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_walk<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide>
    : reduce_batches<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  using Batches =
      reduce_batches<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide>;
  using Batches::are_powers, Batches::chains, Batches::is_ahead, Batches::is_along;
  using Batches::is_ragged, Batches::is_run, Batches::is_scattered, Batches::joins_some, Batches::K;
  using Batches::merges_some, Batches::outputs, Batches::R, Batches::seeks_vectors, Batches::taken;
  using Batches::takes_alike, Batches::takes_batches, Batches::takes_columns, Batches::takes_some;
  using Batches::unroll;
  using typename Batches::Lane, typename Batches::Value, typename Batches::Fold;
  using typename Batches::P, typename Batches::Part, typename Batches::Element;
  using typename Batches::Reducer, typename Batches::Share;
  using Types = operands_of<Out, In...>;
  static constexpr int threads = 256;
  template <int Lanes, unsigned Mask>
  using Loaded = column_load<has_unaligned_columns<Along>, Lanes, Mask, In...>;
  using Until = accesses_until<Index, taken>;

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
  /// The values of an access whose first lane has position `first`.
  template <int Lanes, unsigned Mask>
  static __device__ void compute(const P& p, Element* value, const Loaded<Lanes, Mask>& in,
                                 i64 first) {
#pragma unroll
    for (int lane = 0; lane < Lanes; ++lane)
      value[lane] = Value{}(lane_context<P, Lanes, Mask, In...>{p, in, first + lane, lane});
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
      Element value[V];
      compute<V, Wide>(p, value, in, first);
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
    Element value[all];
    int count = 0;
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      if (!lanes[u].is_empty()) count += lanes[u].last - lanes[u].first;
      compute<V, Wide>(p, value + u * V, in[u], first[u]);
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
    Element value[Lanes];
    compute<Lanes, Mask>(p, value, in, first);
    take_vector<Op>(*sum, value, first, p.stride(0, R - 1));
  }
  /// The elements of `Count` accesses of a run, at i, i + step, ...
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void add_run(const P& p, Part& sum, const Loaded<Lanes, Mask>* in, Index i,
                                 Index step) {
    Element value[Count][Lanes];
#pragma unroll
    for (int n = 0; n < Count; ++n) compute<Lanes, Mask>(p, value[n], in[n], 0);
    take_rows<Op>(sum, value, p, [&](int u) { return typename Axes::RunRows(p, i + u * step); });
  }

  /// The elements of `Count` accesses at i, i + step, ...: those of each output at once.
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void add_batch(const P& p, Part* sum, const Loaded<Lanes, Mask>* in, i64 i,
                                   i64 step) {
    constexpr int width = is_along ? Lanes : 1;
    const auto at = [=](int n) { return i + n / width * step + n % width; };
    Element value[outputs][Count * width];
#pragma unroll
    for (int n = 0; n < outputs * Count * width; ++n) {
      const int j = n / (Count * width), m = n % (Count * width), lane = is_along ? m % width : j;
      value[j][m] = Value{}(lane_context<P, Lanes, Mask, In...>{p, in[m / width], at(m), lane});
    }
    if constexpr (takes_columns) {
#pragma unroll
      for (int j = 0; j < outputs; j += 4) {
        u32 row[Count];
#pragma unroll
        for (int n = 0; n < Count; ++n) {
          const Element four[] = {value[j][n], value[j + 1][n], value[j + 2][n], value[j + 3][n]};
          row[n] = four_bytes(four);
        }
        Reducer::template take_columns<Element>(sum + j, row);
      }
    } else if constexpr (takes_alike) {
      Reducer::take_alike(sum, value);
    } else {
#pragma unroll
      for (int j = 0; j < outputs; ++j) {
        if constexpr (seeks_vectors)
          take_best<Op>(sum[j], value[j], i);
        else
          Reducer::take_all(sum[j], value[j], at);
      }
    }
  }

  /// Consecutive accesses, which are in flight together.
  template <int Count, int Lanes, unsigned Mask>
  struct Batch {
    Loaded<Lanes, Mask> in[Count];
    Index position[Count];

    /// The first one is at `i`.
    template <class Those = all_accesses>
    __device__ void load(const P& p, auto& cursor, Index i, Index step,
                         const Those& is_there = {}) {
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (!is_there(u)) continue;
        cursor.load(p, in[u], i + u * step);
        position[u] = cursor.position(i + u * step);
        cursor.next(p);
      }
    }
    __device__ void take(const P& p, const Until& is_there, Part (*chain)[outputs]) const {
      if constexpr (joins_some && is_along && Lanes > 1) {
        Element value[Count * Lanes];
        int count = 0;
#pragma unroll
        for (int u = 0; u < Count; ++u) {
          count += is_there(u) ? Lanes : 0;
          compute<Lanes, Mask>(p, value + u * Lanes, in[u], position[u]);
        }
        if (count == 0) return;
        Reducer::take_those(*chain[0], value, count, [=](int n) { return is_there(n / Lanes); });
      } else {
#pragma unroll
        for (int u = 0; u < Count; ++u) {
          if (is_there(u)) add<Lanes, Mask>(p, chain[u % chains], in[u], position[u]);
        }
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
  };
  template <int Count, int Lanes, unsigned Mask>
  requires(!is_ragged) static __device__
      void take(const P& p, auto& cursor, Index i, Index step, Part (*chain)[outputs]) {
    Batch<Count, Lanes, Mask> batch;
    batch.load(p, cursor, i, step);
    if constexpr (are_powers) loads_are_above();
    batch.take(p, i, step, chain);
  }
  /// Fewer than 2 * Count accesses: in flight together, but for batches of single elements.
  template <int Count, int Lanes, unsigned Mask>
  static __device__ void take_rest(const P& p, auto& cursor, Index i, Index end, Index step,
                                   Part (*chain)[outputs]) {
    if constexpr (!takes_batches || (is_along && Lanes > 1)) {
      const Until is_there{i, end, step};
      Batch<2 * Count - 1, Lanes, Mask> rest;
      rest.load(p, cursor, i, step, is_there);
      rest.take(p, is_there, chain);
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
  static __device__ void take_all(const P& p, auto& cursor, Index i, Index end, Index step,
                                  Part (*chain)[outputs]) {
    constexpr Index width = is_along ? Lanes : 1;
#pragma unroll 1
    for (; i + (unroll - 1) * step + width <= end; i += unroll * step) {
      take<unroll, Lanes, Mask>(p, cursor, i, step, chain);
    }
    if constexpr (is_ragged || (is_along && is_located<Acc>)) {
#pragma unroll 1
      for (; i + width <= end; i += step) take<1, Lanes, Mask>(p, cursor, i, step, chain);
    } else {
      take_rest<unroll / 2, Lanes, Mask>(p, cursor, i, end, step, chain);
    }
  }
  /// The same, while a batch is taken with the next one in flight, or what is left of a row.
  template <int Lanes, unsigned Mask>
  static __device__ void take_ahead(const P& p, auto& cursor, Index i, Index end, Index step,
                                    Part (*chain)[outputs]) {
    Batch<unroll, Lanes, Mask> now, next;
    const Index all = unroll * step;
    const bool has_one = Until{i, end, step}(unroll - 1);
    if (has_one) {
      now.load(p, cursor, i, step);
#pragma unroll 1
      for (i += all; Until{i, end, step}(unroll - 1); i += all) {
        next.load(p, cursor, i, step);
        now.take(p, i - all, step, chain);
        now = next;
      }
    }
    const Until is_there{i, end, step};
    if constexpr (is_along) next.load(p, cursor, i, step, is_there);
    if (has_one) now.take(p, i - all, step, chain);
    if constexpr (is_along)
      next.take(p, is_there, chain);
    else
      take_rest<unroll / 2, Lanes, Mask>(p, cursor, i, end, step, chain);
  }

  /// Reduces the accesses at begin, begin + step, ... that end by `end` into sum[outputs].
  template <int Lanes, unsigned Mask>
  static __device__ void walk(const P& p, const Offsets& base, Index begin, Index end, Index step,
                              Acc* sum) {
    if (begin + (is_along ? Lanes : 1) > end) return;
    const Index by = step < end - begin ? step : 0;
    walk_by<Lanes, Mask, is_ahead>(p, Cursor(p, base, begin, by), begin, end, step, sum);
  }
  /// The same by a cursor that is at `begin`; with a reference to it compilers have fewer loads in
  /// flight.
  template <int Lanes, unsigned Mask, bool IsAhead>
  static __device__ void walk_by(const P& p, auto cursor, Index begin, Index end, Index step,
                                 Acc* sum) {
    Part chain[chains][outputs];
#pragma unroll
    for (int u = 0; u < chains; ++u) {
#pragma unroll
      for (int j = 0; j < outputs; ++j) chain[u][j] = Reducer::template identity<Part>();
    }
    if constexpr (IsAhead)
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
