// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reducer.hpp>

#include "kernels/best_of_warp.cuh"
#include "kernels/packed.cuh"
#include "kernels/vector.cuh"

/// How a thread finds the best of a batch of elements, and locates it where positions do not
/// ascend.
namespace quarry::kernels {

/// The better of two values for a reducer that locates it: a NaN, else the larger or the smaller.
template <class Op, class V>
__device__ V better(V a, V b) {
#if __CUDA_ARCH__ >= 800
  if constexpr (is_same<V, float>) {
    float best;
    if constexpr (is_largest<Op>)
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    else
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    return best;
  } else if constexpr (is_same<V, float16> || is_same<V, bfloat16>) {
    u16 x, y, best;
    memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);
    if constexpr (is_largest<Op> && is_same<V, float16>)
      asm("max.NaN.f16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    else if constexpr (is_same<V, float16>)
      asm("min.NaN.f16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    else if constexpr (is_largest<Op>)
      asm("max.NaN.bf16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    else
      asm("min.NaN.bf16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    memcpy(&a, &best, sizeof a);
    return a;
  }
#endif
  if constexpr (is_integer<V>) return (b > a) == is_largest<Op> ? b : a;
  using U = typename value_of<V>::type;
  return Op::beats(convert<U>(b), convert<U>(a)) ? b : a;
}

/// Bytes whose extremes are found several at once.
template <class V>
inline constexpr bool is_packed_byte = is_same<V, i8> || is_same<V, u8>;

/// The best of the bytes of several words, for a reducer that locates it. They are compared as the
/// upper halves of pairs of 16 bits, whatever the lower halves are.
template <class Op, class V, u64 Words>
__device__ V best_of_bytes(const u32 (&word)[Words]) {
  using Half = typename half_of<V>::type;
  u32 upper = word[0], lower = upper << 8;
#pragma unroll
  for (u64 w = 1; w < Words; ++w) {
    upper = extreme_pair<is_largest<Op>, Half>(upper, word[w]);
    lower = extreme_pair<is_largest<Op>, Half>(lower, word[w] << 8);
  }
  const u32 best = extreme_pair<is_largest<Op>, Half>(upper, lower);
  return static_cast<V>(extreme_pair<is_largest<Op>, Half>(best, best << 16) >> 24);
}

/// Values as words, which are in as many registers if the compiler sees where they are from.
template <class V, u64 N, u64 Words>
__device__ void to_words(u32 (&word)[Words], const V (&v)[N]) {
  static_assert(sizeof word == sizeof(V) * N);
  if constexpr (is_byte<V>) {
#pragma unroll
    for (u64 w = 0; w < Words; ++w) word[w] = four_bytes(v + 4 * w);
  } else {
    memcpy(word, &v, sizeof word);
  }
}

/// The best of N values for a reducer that locates it.
template <class Op, class V, u64 N>
__device__ V best_of_all(const V (&v)[N]) {
  if constexpr (is_packed_byte<V> && N % 4 == 0) {
    u32 word[N / 4];
    to_words(word, v);
    return best_of_bytes<Op, V>(word);
  } else {
    V best = v[0];
#pragma unroll
    for (u64 n = 1; n < N; ++n) best = better<Op>(best, v[n]);
    return best;
  }
}
/// The same of values that are in words.
template <class Op, class V, u64 N, u64 Words>
__device__ V best_of_words(const u32 (&word)[Words]) {
  static_assert(sizeof word == sizeof(V) * N);
  if constexpr (is_packed_byte<V>) {
    return best_of_bytes<Op, V>(word);
  } else {
    V v[N];
    memcpy(static_cast<void*>(&v), word, sizeof v);
    return best_of_all<Op>(v);
  }
}

/// For a reducer that locates it, the best of each of four columns of bytes, and the row of the
/// first of equals. A pair of 16 bits has two bytes above the numbers of their rows, which for the
/// largest are the less the later the row is, so that one comparison finds both.
template <class Op, class V>
struct best_of_columns {
  static constexpr int columns = 4, most = 256;  ///< rows at most
  using Half = typename half_of<V>::type;
  static constexpr bool seeks_largest = is_largest<Op>;
  /// Neither is better than any row.
  static constexpr u32 neutral =
      0x00010001u *
      (seeks_largest ? (is_signed<Half> ? 0x8000u : 0u) : (is_signed<Half> ? 0x7fffu : 0xffffu));
  u32 odd = neutral, even = neutral;  // columns

  /// N rows of four bytes, of which the first one is row `first`.
  template <u64 N>
  __device__ void take(const u32 (&row)[N], int first) {
    u32 odd_here = neutral, even_here = neutral;
#pragma unroll
    for (u32 n = 0; n < N; ++n) {
      const u32 order = seeks_largest ? static_cast<u32>(N) - 1 - n : n;
      odd_here = better(odd_here, chosen_bytes<0x3414>(row[n], order));
      even_here = better(even_here, chosen_bytes<0x2404>(row[n], order));
    }
    const int others = seeks_largest ? most - static_cast<int>(N) - first : first;
    const u32 pairs = 0x00010001u * static_cast<u32>(others);
    odd = better(odd, odd_here + pairs), even = better(even, even_here + pairs);
  }
  __device__ V value(int column) const {
    return static_cast<V>(static_cast<u8>(half(column) >> 8));  // of the half alone: V may be bool
  }
  __device__ int row(int column) const {
    const int order = static_cast<int>(half(column) & 255);
    return seeks_largest ? most - 1 - order : order;
  }

 private:
  static __device__ u32 better(u32 a, u32 b) { return extreme_pair<seeks_largest, Half>(a, b); }
  __device__ u32 half(int column) const {
    return (column % 2 == 1 ? odd : even) >> (column / 2 * 16);
  }
};

/// A reducer that locates the best element. A batch seldom has a better one than all before: only
/// then its place is sought.
template <class Op>
struct best_first : Op {
  template <class T, class V, u64 N, class At>
  static __device__ void take_all(located<T>& a, const V (&v)[N], const At& at) {
    using U = typename value_of<T>::type;
    const U best = convert<U>(best_of_all<Op>(v));
    if (Op::beats(best, convert<U>(a.value))) a = {convert<T>(best), at(Op::place_of(best, v))};
  }
};

/// The elements of v, as if all had position `i`.
template <class Op, class T, class V, u64 N>
__device__ void take_best(located<T>& a, const V (&v)[N], i64 i) {
  using U = typename value_of<T>::type;
  Op::take_best(a, convert<U>(best_of_all<Op>(v)), i);
}

/// An element at any position, for a reducer that locates an extreme.
template <class Op, class T, class V>
__device__ void take_anywhere(located<T>& a, V v, i64 i) {
  const T value = convert<T>(v);
  const bool is_tie = !Op::beats(value, a.value) && !Op::beats(a.value, value);
  if (is_tie ? i < a.index : Op::beats(value, a.value)) a = {value, i};
}

/// Which of N elements are as good as the best of them: bit n for element n.
template <class Op, class V, u64 N, u64 Words>
__device__ u32 equal_lanes(const u32 (&word)[Words], V best) {
  static_assert(sizeof word == sizeof(V) * N);
  u32 equal = 0;
  if constexpr (is_packed_byte<V>) {
    const u32 four = 0x01010101u * static_cast<u8>(best);
#pragma unroll
    for (u64 w = 0; w < Words; ++w) {
      const u32 other = word[w] ^ four, low = (other & 0x7f7f7f7fu) + 0x7f7f7f7fu;
      const u32 zero = ~(low | other | 0x7f7f7f7fu) >> 7;  // bit 8 n: byte n is equal
      equal |= (zero * 0x01020408u >> 24 & 15) << 4 * w;
    }
  } else {
    using U = typename value_of<V>::type;
    V v[N];
    memcpy(static_cast<void*>(&v), word, sizeof v);
#pragma unroll
    for (u64 n = 0; n < N; ++n) {
      equal |= u32{!Op::beats(convert<U>(best), convert<U>(v[n]))} << n;
    }
  }
  return equal;
}

/// The number of the first of N elements that is as good as the best of them.
template <class Op, class V, u64 N>
__device__ int first_equal(const V (&v)[N], V best) {
  if constexpr (sizeof(V) * N % 4 == 0) {
    u32 word[sizeof(V) * N / 4];
    to_words(word, v);
    return lowest_bit(equal_lanes<Op, V, N>(word, best));
  } else {
    using U = typename value_of<V>::type;
    return Op::place_of(convert<U>(best), v);
  }
}

/// The elements of v; the first one has position `first`, the others follow `step` > 0 apart.
template <class Op, class T, class V, u64 N>
__device__ void take_vector(located<T>& a, const V (&v)[N], i64 first, i64 step) {
  using U = typename value_of<T>::type;
  const V best = best_of_all<Op>(v);
  const U value = convert<U>(best), before = convert<U>(a.value);
  if (!Op::beats(value, before) && (first >= a.index || Op::beats(before, value))) return;
  take_anywhere<Op>(a, best, first + first_equal<Op>(v, best) * step);
}

/// The N elements of each of several accesses, which are of one row or more in which positions
/// ascend: `rows_of(n)` says where those of access n are. Most accesses have none that is as good
/// as the best before; the others are taken one after another, so that the threads of a warp do
/// this together.
template <class Op, class T, class V, u64 Count, u64 N, class P, class Rows>
__device__ void take_rows(located<T>& a, const V (&v)[Count][N], const P& p, const Rows& rows_of) {
  using U = typename value_of<T>::type;
  constexpr u64 size = sizeof(V) * N / 4;
  u32 words[Count][size];
#pragma unroll
  for (u64 n = 0; n < Count; ++n) to_words(words[n], v[n]);
  V best[Count], most;
#pragma unroll
  for (u64 n = 0; n < Count; ++n) {
    best[n] = best_of_words<Op, V, N>(words[n]);
    most = n == 0 ? best[0] : better<Op>(most, best[n]);
  }
  const U value = convert<U>(most);
  if (Op::beats(convert<U>(a.value), value)) return;
  u32 found = 0;
#pragma unroll
  for (u64 n = 0; n < Count; ++n) found |= u32{!Op::beats(value, convert<U>(best[n]))} << n;
#pragma unroll 1
  for (; found != 0; found &= found - 1) {
    const int place = lowest_bit(found);
    u32 word[size];
#pragma unroll
    for (u64 n = 0; n < Count * size; ++n) {
      const bool is_chosen = n < size || place == static_cast<int>(n / size);
      word[n % size] = is_chosen ? words[n / size][n % size] : word[n % size];
    }
    u32 equal = equal_lanes<Op, V, N>(word, most);
    auto rows = rows_of(place);
#pragma unroll 1
    for (; equal != 0; rows.next(p)) {
      const i64 left = rows.left(p);
      const bool is_last = left >= i64{N};
      const u32 here = is_last ? equal : equal & ((u32{1} << left) - 1);
      if (here != 0) take_anywhere<Op>(a, most, rows.position() + lowest_bit(here) * rows.step(p));
      equal = is_last ? 0 : equal >> left;
    }
  }
}

}  // namespace quarry::kernels
