// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/located.cuh"
#include "kernels/packed.cuh"
#include "kernels/params.cuh"
#include "kernels/vector.cuh"

/// How a thread folds its share of the elements: as the reducer does, but integers of one and two
/// bytes in counters of 32 bits, which are exact and become an accumulator of the reducer's at the
/// end; and how moments of bytes stay exact until the result.
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

/// Calls f(k, four) for each of four columns of bytes and every four of N rows, 0 where there are
/// none.
template <u64 N, class F>
__device__ void take_fours(const u32 (&row)[N], const F& f) {
#pragma unroll
  for (u64 n = 0; n < N; n += 4) {
    u32 some[4], column[4];
#pragma unroll
    for (u64 at = 0; at < 4; ++at) some[at] = n + at < N ? row[n + at < N ? n + at : 0] : 0;
    transpose_bytes(some, column);
#pragma unroll
    for (int k = 0; k < 4; ++k) f(k, column[k]);
  }
}

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
  /// N rows of four bytes, an element of each of four outputs.
  template <class V, u64 N>
  static __device__ void take_columns(i32* a, const u32 (&row)[N]) {
    take_fours(row, [=](int k, u32 four) { a[k] = dot4<V>(four, 0x01010101u, a[k]); });
  }
  static __device__ i32 combine(i32 a, i32 b) { return a + b; }
};

/// The sums of narrow integers and of their squares.
template <class V>
struct narrow_powers {
  i32 sum;
  typename unsigned_of<4 * sizeof(V)>::type squares;
  __device__ void add_count(i32) {}
};
/// The same, and how many there are.
template <class V>
struct counted_powers : narrow_powers<V> {
  i32 count;
  __device__ void add_count(i32 more) { count += more; }
};
template <bool Packed>
struct narrow_moments {
  static constexpr bool takes_batches = true;
  template <class Acc>
  static __device__ Acc identity() {
    return {};
  }
  template <class Acc, class V>
  static __device__ void take(Acc& a, V v, i64) {
    const i32 x = static_cast<i32>(v);
    a.sum += x, a.squares += static_cast<u32>(x) * static_cast<u32>(x), a.add_count(1);
  }
  template <class Acc, class V, u64 N, class At>
  static __device__ void take_all(Acc& a, const V (&v)[N], const At&) {
    if constexpr (Packed && sizeof(V) == 1 && N % 4 == 0) {
      a.add_count(static_cast<i32>(N));
#pragma unroll
      for (u64 n = 0; n < N; n += 4) add_four<V>(a, four_bytes(v + n));
    } else {
#pragma unroll
      for (u64 n = 0; n < N; ++n) take(a, v[n], 0);
    }
  }
  template <class Acc, class V, u64 N>
  static __device__ void take_some(Acc& a, const V (&v)[N], int first, int last) {
    take_all(a, some_of<V, N>(v, first, last).of, 0);
    a.add_count(last - first - static_cast<i32>(N));
  }
  /// N rows of four bytes, an element of each of four outputs.
  template <class V, class Acc, u64 N>
  static __device__ void take_columns(Acc* a, const u32 (&row)[N]) {
    take_fours(row, [=](int k, u32 four) { add_four<V>(a[k], four); });
#pragma unroll
    for (int k = 0; k < 4; ++k) a[k].add_count(static_cast<i32>(N));
  }
  template <class V>
  static __device__ narrow_powers<V> combine(const narrow_powers<V>& a, const narrow_powers<V>& b) {
    return {a.sum + b.sum, a.squares + b.squares};
  }
  template <class V>
  static __device__ counted_powers<V> combine(const counted_powers<V>& a,
                                              const counted_powers<V>& b) {
    return {{a.sum + b.sum, a.squares + b.squares}, a.count + b.count};
  }

 private:
  /// Bytes, and 0, which count as none.
  template <class V>
  static __device__ void add_four(narrow_powers<V>& a, u32 four) {
    a.sum = dot4<V>(four, 0x01010101u, a.sum);
    a.squares = static_cast<u32>(dot4<V>(four, four, static_cast<i32>(a.squares)));
  }
};

/// Op, which finishes moments, of accumulators that need no division to be merged.
template <class Op>
struct exact_moments : Op {
  template <class Acc>
  static __device__ Acc identity() {
    return {0, 0};
  }
  static __device__ byte_powers combine(const byte_powers& a, const byte_powers& b) {
    return {a.sum + b.sum, a.squares + b.squares};
  }
  /// Of n bytes from n Q - S^2, which is less than 2^62 for up to 2^23. Of more the distances are
  /// from the integer next to the mean: the sum of their squares is exact, and at least twice what
  /// is taken off for the rest of the mean.
  static __device__ moments<double> moments_from(const byte_powers& a, i64 n) {
    if (n == 0) return {0, 0, 0};
    const double count = static_cast<double>(n), mean = static_cast<double>(a.sum) / count;
    if (n <= i64{1} << 23) {
      const i64 apart = n * a.squares - a.sum * a.sum;
      return {mean, static_cast<double>(apart) / count, count};
    }
    const i64 near = static_cast<i64>(mean + (mean < 0 ? -0.5 : 0.5));
    const i64 rest = a.sum - near * n;
    const i64 squares = a.squares - near * (near * n + 2 * rest);
    const double apart = static_cast<double>(rest);
    return {mean, static_cast<double>(squares) - apart / count * apart, count};
  }
  template <class Out, class C>
  static __device__ Out finish(const byte_powers& a, const C& c) {
    return Op::template finish<Out>(moments_from(a, c.count()), c);
  }
};

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
  using type = counted_powers<V>;
  static constexpr i64 most = most_narrow;
  /// n Q - S^2 < 2^62 is exact.
  static __device__ moments<T> widened(const type& a) {
    if (a.count == 0) return moments_of::identity<moments<T>>();
    const i64 n = a.count, sum = a.sum, apart = n * static_cast<i64>(a.squares) - sum * sum;
    const T count = convert<T>(n);
    return {convert<T>(sum) / count, convert<T>(apart) / count, count};
  }
};

template <class Op, class V, bool Packed>
struct thread_fold<exact_moments<Op>, byte_powers, V, Packed> {
  using value_type = V;
  using reducer = narrow_moments<Packed>;
  using type = narrow_powers<V>;
  static constexpr i64 most = most_narrow;
  static __device__ byte_powers widened(const type& a) { return {a.sum, a.squares}; }
};

/// Whether an expression is an input as it is, or converted.
template <class E>
inline constexpr bool is_input = false;
template <class T, int K>
inline constexpr bool is_input<in<T, K>> = true;
template <class T, class A>
inline constexpr bool is_input<cast<T, A>> = is_input<A>;

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

/// The program that kernels run for M: moments of bytes are those of exact_moments.
template <class M>
struct exact {
  using type = M;
};
template <class E, class Op, class Acc, class Out, int S, class... In>
requires(
    has_exact_moments<E, Op, Acc,
                      lane_context<params<sizeof...(In) + 1, S, 1>, 1, 0,
                                   In...>>) struct exact<reduction_of<E, Op, Acc, Out, S, In...>> {
  using type = reduction_of<E, exact_moments<Op>, byte_powers, Out, S, In...>;
};
template <class M>
using exact_t = typename exact<M>::type;

}  // namespace quarry::kernels
