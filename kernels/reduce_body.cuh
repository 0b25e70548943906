// SPDX-License-Identifier: BSD-3-Clause
#pragma once
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
/// last kept axis has a row of each of several positions of the last reduced one, one after another
/// in memory, so that its vectors are aligned. The output's stride along it is the number of its
/// columns, the one along the last reduced axis the number of elements of an incomplete row behind
/// all others. Or the last kept axis has several times the rows of all positions of a further
/// reduced axis: then the second stride is the negative of how many elements these have together.
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

  /// Combines the accumulators of the threads that share an output; valid in the first of them.
  static __device__ void total(Acc (&sum)[outputs], const lane_of& me) {
    constexpr int most = threads_along ? threads / 32 : threads * outputs;
    alignas(16) __shared__ char storage[most * sizeof(Acc)];
    if constexpr (threads_along)
      sum[0] = total_along<Op>(reinterpret_cast<Acc*>(storage), sum[0]);
    else
      total_of_lanes<Op>(reinterpret_cast<Acc*>(storage), sum, me);
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

  /// The accumulators of folded rows, as if they were of more splits. The incomplete rows, one of
  /// each position of the other reduced axes, are taken by the splits in turn.
  static __device__ void store_folded(const P& p, const Offsets& base, Acc* sum, Index output,
                                      Acc* partial) {
    const Index row = static_cast<Index>(p.extent(Rk - 1)),
                last = static_cast<Index>(p.extent(R - 1));
    const Index incomplete = static_cast<Index>(p.reduced()) / last;
    const Index splits = static_cast<Index>(gridDim.y);
    const Index columns = static_cast<Index>(p.stride(0, Rk - 1));
    const Index rest = static_cast<Index>(p.stride(0, R - 1));
    const Index group = rest < 0 ? -rest : row, rows = group / columns;
    const i64 kept = p.kept() / rows;
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
      const Index before = (output + j) / group, place = output + j - before * group;
      const Index part = place / columns;
      if (place < rest) {
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
      const i64 split = blockIdx.y * static_cast<i64>(rows) + part;
      partial[split * kept + before * columns + (place - part * columns)] = sum[j];
    }
  }
  using acc_type = Acc;
};

}  // namespace quarry::kernels
