// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/reduce_walk.cuh"

/// Extremes of columns of bytes, and their places.
namespace quarry::kernels {

/// What reduce_walk::walk_parts does, where the V outputs of a thread are columns of bytes.
template <class Walk, int V, unsigned Wide>
struct find_in_columns {
  using P = typename Walk::P;
  using Index = typename Walk::Until::index_type;
  using Op = typename Walk::Reducer;
  using Element = typename Walk::Element;
  using Best = best_of_columns<Op, Element>;
  static constexpr int rows = Walk::unroll, groups = (V + 3) / 4;
  static constexpr bool is_possible = !Walk::is_along && Walk::outputs == V && V % 4 == 0 &&
                                      is_byte<Element> && is_located<typename Walk::Part> &&
                                      !Walk::is_scattered;

  /// The rows at i, i + step, ... of which the first one is row `first`. Those from `end` on are
  /// the last one again.
  template <bool AreAllThere>
  static __device__ void take(const P& p, const typename Walk::Cursor& cursor, Index i, Index end,
                              Index step, int first, Best (&best)[groups]) {
    typename Walk::template Loaded<V, Wide> in[rows];
    Index position[rows];
#pragma unroll
    for (int n = 0; n < rows; ++n) {
      position[n] = i;
      cursor.load(p, in[n], i);
      i = AreAllThere || end - i > step ? i + step : i;
    }
    loads_are_above();
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      u32 row[rows];
#pragma unroll
      for (int n = 0; n < rows; ++n) {
        Element four[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          four[k] = typename Walk::Value{}(typename Walk::Lane{p, in[n], position[n], 4 * g + k});
        row[n] = four_bytes(four);
      }
      best[g].take(row, first);
    }
  }
  template <class Acc>
  static __device__ void run(const P& p, const typename Walk::Offsets& base, Index begin, Index end,
                             Index step, Acc* sum) {
    static_assert(Best::most % rows == 0);
    const typename Walk::Cursor cursor(p, base, begin, 0);
#pragma unroll 1
    while (begin < end) {
      Best best[groups];
      const Index first = begin;
      int taken = 0;
#pragma unroll 1
      for (; taken < Best::most && end - begin > (rows - 1) * step; taken += rows) {
        take<true>(p, cursor, begin, end, step, taken, best);
        begin += rows * step;
      }
      if (taken < Best::most && begin < end) {
        take<false>(p, cursor, begin, end, step, taken, best);
        begin = end;
      }
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const Best& of = best[j / 4];
        Op::take_best(sum[j], of.value(j % 4), first + i64{of.row(j % 4)} * step);
      }
    }
  }
};

}  // namespace quarry::kernels
