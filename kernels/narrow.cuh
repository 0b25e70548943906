// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/located.cuh"
#include "kernels/packed.cuh"

/// How a thread folds its share of the elements: as the reducer does, but integers of one and two
/// bytes in counters of 32 bits, which are exact and become an accumulator of the reducer's at the
/// end.
namespace quarry::kernels {

template <class V>
inline constexpr bool is_narrow = (is_integer<V> || is_bool<V>)&&sizeof(V) <= 2;

/// How many elements of a narrow type a counter takes: 2^16 * 2^15 = 2^31.
inline constexpr i64 most_narrow = 1 << 15;

/// Those of N narrow integers that are at [first, last), and 0 for the others.
template <class V, u64 N>
struct some_of {
  V of[N];
  __device__ some_of(const V (&v)[N], int first, int last) {
    constexpr int step = sizeof(V) == 1 && N % 4 == 0 ? 4 : 1;
#pragma unroll
    for (int n = 0; n < static_cast<int>(N); n += step) {
      if constexpr (step == 1) {
        of[n] = n >= first && n < last ? v[n] : V{};
      } else {
        const u32 word = four_bytes(v + n) & bytes_between(first - n, last - n);
#pragma unroll
        for (int at = 0; at < step; ++at) of[n + at] = static_cast<V>(word >> 8 * at);
      }
    }
  }
};

/// The sum of narrow integers; with Packed four bytes of an access at once.
template <bool Packed>
struct narrow_sum {
  static constexpr bool takes_batches = true;
  template <class Acc>
  static __device__ Acc identity() {
    return 0;
  }
  template <class V>
  static __device__ void take(i32& a, V v, i64) {
    a += static_cast<i32>(v);
  }
  template <class V, u64 N, class At>
  static __device__ void take_all(i32& a, const V (&v)[N], const At&) {
    if constexpr (Packed && sizeof(V) == 1 && N % 4 == 0) {
#pragma unroll
      for (u64 n = 0; n < N; n += 4) a = dot4<V>(four_bytes(v + n), 0x01010101u, a);
    } else {
#pragma unroll
      for (u64 n = 0; n < N; ++n) a += static_cast<i32>(v[n]);
    }
  }
  template <class V, u64 N>
  static __device__ void take_some(i32& a, const V (&v)[N], int first, int last) {
    take_all(a, some_of<V, N>(v, first, last).of, 0);
  }
  static __device__ i32 combine(i32 a, i32 b) { return a + b; }
};

/// The sums of narrow integers and of their squares.
template <class V>
struct narrow_powers {
  i32 count, sum;
  typename unsigned_of<4 * sizeof(V)>::type squares;
};
template <bool Packed>
struct narrow_moments {
  static constexpr bool takes_batches = true;
  template <class Acc>
  static __device__ Acc identity() {
    return {0, 0, 0};
  }
  template <class V>
  static __device__ void take(narrow_powers<V>& a, V v, i64) {
    const i32 x = static_cast<i32>(v);
    a = {a.count + 1, a.sum + x, a.squares + static_cast<u32>(x) * static_cast<u32>(x)};
  }
  template <class V, u64 N, class At>
  static __device__ void take_all(narrow_powers<V>& a, const V (&v)[N], const At&) {
    if constexpr (Packed && sizeof(V) == 1 && N % 4 == 0) {
      a.count += static_cast<i32>(N);
#pragma unroll
      for (u64 n = 0; n < N; n += 4) {
        const u32 word = four_bytes(v + n);
        a.sum = dot4<V>(word, 0x01010101u, a.sum);
        a.squares = static_cast<u32>(dot4<V>(word, word, static_cast<i32>(a.squares)));
      }
    } else {
#pragma unroll
      for (u64 n = 0; n < N; ++n) take(a, v[n], 0);
    }
  }
  template <class V, u64 N>
  static __device__ void take_some(narrow_powers<V>& a, const V (&v)[N], int first, int last) {
    take_all(a, some_of<V, N>(v, first, last).of, 0);
    a.count -= static_cast<i32>(N) - (last - first);
  }
  template <class V>
  static __device__ narrow_powers<V> combine(const narrow_powers<V>& a, const narrow_powers<V>& b) {
    return {a.count + b.count, a.sum + b.sum, a.squares + b.squares};
  }
};

/// The type of the values of expression E.
template <class E, class C>
using value_in = decltype(E{}(*static_cast<const C*>(nullptr)));

/// What a thread folds elements of type V into, before they become an Acc of reducer Op.
template <class Op, class Acc, class V, bool Packed>
struct thread_fold {
  using value_type = V;
  using reducer = Op;
  using type = Acc;
  static constexpr i64 most = 0;  ///< elements of a thread; 0 is any number
  static __device__ Acc widened(const type& a) { return a; }
};
template <class Op, class T, class V, bool Packed>
struct thread_fold<Op, located<T>, V, Packed> {
  using value_type = V;
  using reducer = best_first<Op>;
  using type = located<T>;
  static constexpr i64 most = 0;
  static __device__ type widened(const type& a) { return a; }
};
template <class Op>
inline constexpr bool adds_up = __is_base_of(sum_of, Op) || __is_base_of(mean_of, Op);
template <class Op, class Acc, class V, bool Packed>
requires(is_narrow<V>&& adds_up<Op>) struct thread_fold<Op, Acc, V, Packed> {
  using value_type = V;
  using reducer = narrow_sum<Packed>;
  using type = i32;
  static constexpr i64 most = most_narrow;
  static __device__ Acc widened(i32 a) { return convert<Acc>(a); }
};
template <class Op, class T, class V, bool Packed>
requires(is_narrow<V> && !is_complex<T> &&
         __is_base_of(moments_of, Op)) struct thread_fold<Op, moments<T>, V, Packed> {
  using value_type = V;
  using reducer = narrow_moments<Packed>;
  using type = narrow_powers<V>;
  static constexpr i64 most = most_narrow;
  /// n Q - S^2 < 2^62 is exact.
  static __device__ moments<T> widened(const type& a) {
    if (a.count == 0) return moments_of::identity<moments<T>>();
    const i64 n = a.count, sum = a.sum, apart = n * static_cast<i64>(a.squares) - sum * sum;
    const T count = convert<T>(n);
    return {convert<T>(sum) / count, convert<T>(apart) / count, count};
  }
};

/// The expression whose narrow values are converted to a T by E, if there is one: reducers to Acc
/// convert what they take. Extremes and their positions are those of a T: its order, and the number
/// that they begin with, may be none of the narrow type.
template <class E, class T, class Acc, class C>
struct before_cast {
  using type = E;
};
template <class A, class T, class Acc, class C>
requires(is_narrow<value_in<A, C>> && !is_located<Acc>) struct before_cast<cast<T, A>, T, Acc, C> {
  using type = A;
};

}  // namespace quarry::kernels
