// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/joined_stores.cuh"
#include "kernels/reduce_columns.cuh"
#include "kernels/reduce_finish.cuh"
#include "kernels/reduce_walk.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/total.cuh"

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
/// last kept axis has rows of several reduced positions, one after another in memory, so that its
/// vectors are aligned; the strides of the output are those of folded_rows in params.hpp.
/// Along = -2: as 1, of rows along the last of several reduced axes, which begin and end anywhere,
/// by the aligned vectors that have some of a row: reduce_axes::extent(). Along = -3: as 2, of the
/// elements of several reduced axes, which lie side by side, but in another order than that of
/// their positions. Along = -4, -5: as 0, -1, of vectors that begin at any element. gridDim.y
/// splits the reduced elements; with more than one split the partial accumulators go to `partial`
/// as [split][kept], of which reduce_finish.cuh makes the results.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide>
struct reduce_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide>
    : reduce_walk<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide> {
  using Walk = reduce_walk<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide>;
  using typename Walk::Cursor, typename Walk::Lane, typename Walk::Offsets, typename Walk::Places;
  using typename Walk::P, typename Walk::Part, typename Walk::Fold, typename Walk::Reducer;
  using typename Walk::Share, typename Walk::Value, typename Walk::Vectors;
  using Walk::add, Walk::K, Walk::outputs, Walk::R, Walk::seeks_vectors;
  using Walk::taken, Walk::threads, Walk::threads_along, Walk::walk_parts;
  using Columns = find_in_columns<Walk, Index, V, Wide>;
  static constexpr int resident = Columns::is_possible ? Columns::resident : Walk::resident;
  static constexpr bool is_folded = has_folded_rows<Along>;
  template <int Lanes, unsigned Mask>
  using Loaded = typename Walk::template Loaded<Lanes, Mask>;

  /// An element that is in no vector.
  static __device__ void take_single(const P& p, const Loaded<1, 0>& in, Index i, Acc* sum) {
    Part part = Reducer::template identity<Part>();
    Walk::template add<1, 0>(p, &part, in, i);
    *sum = Op::combine(*sum, Fold::widened(part));
  }

  /// Lane `lane` of `lanes` takes its share of the reduced elements [begin, end). The first element
  /// that is in no vector is read before all vectors, and taken after them.
  static __device__ void fold(const P& p, const Offsets& base, Index begin, Index end, int lane,
                              int lanes, Acc* sum) {
    const Vectors vectors(p, base, begin, end);
    if constexpr (Columns::is_possible) {
      Columns::run(p, base, vectors.first + lane, vectors.rest, lanes, sum);
    } else if constexpr (!has_singles<Along>) {
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

  template <class T>
  static constexpr bool joins = !is_folded && exceeds_sector<T, outputs>;
  static constexpr bool joins_stores = joins<Acc> || joins<Out>;
  template <class T>
  using Stores = joined_stores<T, outputs, joins<T> ? threads : 1>;
  /// Memory of a block for totals, and then for what it stores.
  union alignas(16) Shared {
    char totals[sizeof(Acc) * (threads_along ? threads / 32 : threads * outputs)];
    char partial[sizeof(Stores<Acc>)], results[sizeof(Stores<Out>)];
  };

  /// Combines the accumulators of the threads that share an output; valid in the first of them.
  static __device__ void total(Shared& shared, Acc (&sum)[outputs], const lane_of& me) {
    if constexpr (threads_along)
      sum[0] = total_along<Op>(reinterpret_cast<Acc*>(shared.totals), sum[0]);
    else
      total_of_lanes<Op>(reinterpret_cast<Acc*>(shared.totals), sum, me);
  }

  /// Results, or partial accumulators, of those threads whose ones are valid. Called by all threads
  /// of the block.
  static __device__ void store(const P& p, Shared& shared, char* to, const Acc (&sum)[outputs],
                               bool are_valid) {
    const i64 apart = Rk > 0 ? p.stride(0, Rk > 0 ? Rk - 1 : 0) : 0;
    if constexpr (joins<Out>) {
      if (apart == sizeof(Out)) {
        Out result[outputs];
#pragma unroll
        for (int j = 0; j < outputs; ++j)
          result[j] = Op::template finish<Out>(sum[j], block_total<P>{p});
        Out* const at = are_valid ? reinterpret_cast<Out*>(to) : nullptr;
        return reinterpret_cast<Stores<Out>*>(shared.results)->store(at, result);
      }
    }
    if (are_valid) store_results<Op, Out, outputs>(block_total<P>{p}, to, apart, sum);
  }
  static __device__ void store_partial(Shared& shared, Acc* to, const Acc (&sum)[outputs],
                                       bool are_valid) {
    if constexpr (joins<Acc>)
      return reinterpret_cast<Stores<Acc>*>(shared.partial)->store(are_valid ? to : nullptr, sum);
    if (!are_valid) return;
#pragma unroll
    for (int j = 0; j < outputs; ++j) to[j] = sum[j];
  }

  static __device__ void run(const P& p, Acc* partial, int order) {
    wait_for_stream(order);
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
    wait_for_work_ahead();
    __shared__ Shared shared;
    total(shared, sum, share.me);
    const bool are_valid = share.me.lane == 0 && output < kept;
    if (!joins_stores && !is_folded && !are_valid) return;
    if constexpr (seeks_vectors)
      seek(p, base, static_cast<Index>(begin), static_cast<Index>(end), sum[0]);
    if constexpr (is_folded) {
      const Folded rows(p);
      if (are_valid) take_incomplete(p, rows, base, static_cast<Index>(output), sum);
      return store_folded(p, rows, shared, output, sum, are_valid, partial);
    }
    if (partial)
      store_partial(shared, partial + (blockIdx.y * kept + output), sum, are_valid);
    else
      store(p, shared, p.template pointer<char>(0) + base.of[0], sum, are_valid);
  }

  /// How folded rows consist of those of the outputs, and where partial accumulators of them go.
  struct Folded {
    Index all;  ///< elements of a folded row
    Index columns, group, row, rest;
    __device__ explicit Folded(const P& p) : all(static_cast<Index>(p.extent(Rk - 1))) {
      const folded_rows of = folded_rows::of(p.stride(0, Rk - 1), p.stride(0, R - 1));
      columns = static_cast<Index>(of.columns), group = static_cast<Index>(of.group);
      row = static_cast<Index>(of.row), rest = static_cast<Index>(of.rest);
    }
  };

  /// The incomplete rows, one of each position of the other reduced axes, are taken by the splits
  /// in turn.
  static __device__ void take_incomplete(const P& p, const Folded& rows, const Offsets& base,
                                         Index output, Acc* sum) {
    const Index last = static_cast<Index>(p.extent(R - 1)),
                incomplete = static_cast<Index>(p.reduced()) / last,
                splits = static_cast<Index>(gridDim.y);
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
      if ((output + j) % rows.all >= rows.rest) continue;
      Offsets first = base;
#pragma unroll
      for (int k = 1; k < K; ++k) {
        first.of[k] += j * static_cast<Index>(p.stride(k, Rk - 1));
        first.of[k] += last * static_cast<Index>(p.stride(k, R - 1));
      }
      for (Index n = static_cast<Index>(blockIdx.y); n < incomplete; n += splits) {
        Offsets at = first;
        at.advance(p, n, Rk, R - 1);
        Loaded<1, 0> in;
        Cursor(p, at, 0, 0).load(p, in, 0);
        take_single(p, in, last, sum + j);
      }
    }
  }
  /// The accumulators of folded rows: as if they were of more splits, or those of short ones
  /// combined, since a block has all of a folded row. Called by all threads of the block.
  static __device__ void store_folded(const P& p, const Folded& rows, Shared& shared, i64 output,
                                      const Acc (&sum)[outputs], bool are_valid, Acc* partial) {
    const Index folds = rows.all / rows.row, parts = rows.group / rows.columns;
    const i64 kept = p.kept() / (folds * parts);
    if (!Share::has_short_rows(p)) {
      if (!are_valid) return;
#pragma unroll
      for (int j = 0; j < outputs; ++j) {
        const Index at = static_cast<Index>(output) + j;
        const Index line = at / rows.all, in_line = at - line * rows.all;
        const Index fold = in_line / rows.row, in_row = in_line - fold * rows.row;
        const Index group = in_row / rows.group, in_group = in_row - group * rows.group;
        const Index part = in_group / rows.columns, column = in_group - part * rows.columns;
        const i64 split = (blockIdx.y * static_cast<i64>(folds) + fold) * parts + part;
        const Index groups = line * (rows.row / rows.group) + group;
        partial[split * kept + groups * rows.columns + column] = sum[j];
      }
      return;
    }
    Acc* const of_block = reinterpret_cast<Acc*>(shared.totals);
    const i64 most = blockDim.y * i64{rows.all}, first = blockIdx.x * most;
    if (are_valid) {
#pragma unroll
      for (int j = 0; j < outputs; ++j) of_block[output - first + j] = sum[j];
    }
    __syncthreads();
    const i64 rest = p.kept() - first;
    const int all = static_cast<int>((rest < most ? rest : most) / (folds * parts)),
              columns = static_cast<int>(rows.columns), group = static_cast<int>(rows.group);
    const int of_line = static_cast<int>(rows.row / parts);  // outputs
    for (int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); i < all;
         i += static_cast<int>(blockDim.x * blockDim.y)) {
      const int line = i / of_line, in_line = i - line * of_line;
      const Acc* const of = of_block + line * static_cast<int>(rows.all) +
                            in_line / columns * group + in_line % columns;
      Acc total = Op::template identity<Acc>();
      for (int fold = 0; fold < static_cast<int>(folds); ++fold) {
        for (int part = 0; part < static_cast<int>(parts); ++part)
          total = Op::combine(total, of[fold * static_cast<int>(rows.row) + part * columns]);
      }
      partial[blockIdx.y * kept + first / (folds * parts) + i] = total;
    }
  }
  using acc_type = Acc;
};

}  // namespace quarry::kernels
