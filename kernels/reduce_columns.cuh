// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/reduce_walk.cuh"

/// Extremes of columns of elements of one or two bytes, and their places.
namespace quarry::kernels {

/// The larger, as integers of 16 bits with a sign, the better the elements of a pair are for a
/// reducer that locates them: order_of.
template <class Op, class V>
__device__ u32 orders_of(u32 pair) {
  constexpr u32 sign = 0x80008000u;
  if constexpr (!is_half<V>) {
    if constexpr (!is_signed<V>) pair ^= sign;
    return is_largest<Op> ? pair : ~pair;
  } else {
#if __CUDA_ARCH__ >= 800
    // -0 becomes 0, and every NaN the one of all bits without a sign
    if constexpr (is_same<V, float16>) {
      constexpr u32 one = is_largest<Op> ? 0x3c003c00u : 0xbc00bc00u, least = 0xfc00fc00u;
      asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(pair) : "r"(one), "r"(0));
      asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(pair) : "r"(least));
    } else {
      constexpr u32 one = is_largest<Op> ? 0x3f803f80u : 0xbf80bf80u, least = 0xff80ff80u;
      asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(pair) : "r"(one), "r"(0));
      asm("max.NaN.bf16x2 %0, %0, %1;" : "+r"(pair) : "r"(least));
    }
    u32 signs;
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(signs) : "r"(pair));
    return pair ^ (signs & ~sign);
#else
    u32 orders = 0;
    for (u32 at = 0; at < 32; at += 16) {
      V v;
      v.bits = static_cast<u16>(pair >> at);
      const float x = convert<float>(v);
      const u32 bits = x != x ? 0x7fffu : V((is_largest<Op> ? x : -x) + 0.f).bits;
      orders |= (bits ^ (bits >> 15) * 0x7fffu) << at;
    }
    return orders;
#endif
  }
}

/// The same as best_of_columns of two columns of elements of two bytes. The best of each has its
/// order above the number of the row, which is the less the later that is.
template <class Op, class V>
struct best_of_two_columns {
  static constexpr int columns = 2, most = 1 << 16;  ///< rows at most
  static constexpr i32 neutral = limits<i32>::lowest();
  i32 best[2] = {neutral, neutral};

  template <u64 N>
  __device__ void take(const u32 (&row)[N], int first) {
    i32 here[2] = {neutral, neutral};
#pragma unroll
    for (u32 n = 0; n < N; ++n) {
      const u32 orders = orders_of<Op, V>(row[n]), place = static_cast<u32>(N) - 1 - n;
      here[0] = better(here[0], chosen_bytes<0x1054>(orders, place));
      here[1] = better(here[1], chosen_bytes<0x3254>(orders, place));
    }
    const u32 others = static_cast<u32>(most - static_cast<int>(N) - first);
#pragma unroll
    for (int k = 0; k < 2; ++k) best[k] = better(best[k], static_cast<u32>(here[k]) + others);
  }
  __device__ V value(int column) const {
    u32 bits = static_cast<u32>(best[column]) >> 16;
    V v;
    if constexpr (is_half<V>) {
      bits ^= (bits >> 15) * 0x7fffu;
      v.bits = static_cast<u16>(is_largest<Op> ? bits : bits ^ 0x8000u);
    } else {
      if constexpr (!is_signed<V>) bits ^= 0x8000u;
      v = static_cast<V>(is_largest<Op> ? bits : ~bits);
    }
    return v;
  }
  __device__ int row(int column) const { return most - 1 - (best[column] & (most - 1)); }

 private:
  static __device__ i32 better(i32 a, u32 b) {
    return a > static_cast<i32>(b) ? a : static_cast<i32>(b);
  }
};

/// What takes elements V of some columns into accumulators Part, if there is something; else it has
/// no columns.
template <class Op, class Part, class V>
struct best_in_columns {
  struct type {
    static constexpr int columns = 0;
  };
};
template <class Op, class T, class V>
requires(is_byte<V>) struct best_in_columns<Op, located<T>, V> {
  using type = best_of_columns<Op, V>;
};
template <class Op, class T, class V>
requires(is_half<V> ||
         (is_integer<V> && sizeof(V) == 2)) struct best_in_columns<Op, located<T>, V> {
  using type = best_of_two_columns<Op, V>;
};

/// What reduce_walk::walk_parts does, where the V outputs of a thread are such columns.
template <class Walk, class Index, int V, unsigned Wide>
struct find_in_columns {
  using P = typename Walk::P;
  using Op = typename Walk::Reducer;
  using Element = typename Walk::Element;
  using Best = typename best_in_columns<Op, typename Walk::Part, Element>::type;
  static constexpr int rows = Walk::unroll, columns = Best::columns > 0 ? Best::columns : V,
                       groups = (V + columns - 1) / columns;
  static constexpr bool is_possible = Best::columns > 0 && V % columns == 0 && Walk::outputs == V &&
                                      !Walk::is_along && is_located<typename Walk::Part> &&
                                      !Walk::is_scattered;
  /// Blocks of a multiprocessor, whose registers hold the rows that are in flight.
  static constexpr int resident = V > 4 ? 3 : 4;

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
        Element element[columns];
#pragma unroll
        for (int k = 0; k < columns; ++k) {
          const typename Walk::Lane lane{p, in[n], position[n], columns * g + k};
          element[k] = typename Walk::Value{}(lane);
        }
        if constexpr (is_byte<Element>)
          row[n] = four_bytes(element);
        else
          memcpy(&row[n], static_cast<const void*>(element), sizeof row[n]);
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
        const Best& of = best[j / columns];
        const int column = j % columns;
        using U = typename value_of<Acc>::type;
        Op::take_best(sum[j], convert<U>(of.value(column)), first + i64{of.row(column)} * step);
      }
    }
  }
};

}  // namespace quarry::kernels
