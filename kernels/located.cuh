// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reducer.hpp>

#include "kernels/packed.cuh"

/// How a thread finds the best of a batch of elements, and locates it where positions do not
/// ascend.
namespace quarry::kernels {

/// The better of two values for a reducer that locates it: a NaN, else the larger or the smaller.
template <class Op, class V>
__device__ V better(V a, V b) {
  constexpr bool is_largest = is_same<typename Op::no_better, less_equal_op>;
#if __CUDA_ARCH__ >= 800
  if constexpr (is_same<V, float>) {
    float best;
    if constexpr (is_largest)
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    else
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(best) : "f"(a), "f"(b));
    return best;
  } else if constexpr (is_same<V, float16> || is_same<V, bfloat16>) {
    u16 x, y, best;
    memcpy(&x, &a, sizeof x), memcpy(&y, &b, sizeof y);
    if constexpr (is_largest && is_same<V, float16>)
      asm("max.NaN.f16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    else if constexpr (is_same<V, float16>)
      asm("min.NaN.f16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    else if constexpr (is_largest)
      asm("max.NaN.bf16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    else
      asm("min.NaN.bf16 %0, %1, %2;" : "=h"(best) : "h"(x), "h"(y));
    memcpy(&a, &best, sizeof a);
    return a;
  }
#endif
  if constexpr (is_integer<V>) return (b > a) == is_largest ? b : a;
  using U = typename value_of<V>::type;
  return Op::beats(convert<U>(b), convert<U>(a)) ? b : a;
}

/// The best of N values for a reducer that locates it. Bytes are compared as the upper halves of
/// pairs of 16 bits, whatever the lower halves are.
template <class Op, class V, u64 N>
__device__ V best_of_all(const V (&v)[N]) {
  if constexpr ((is_same<V, i8> || is_same<V, u8>)&&N % 4 == 0) {
    using Half = typename half_of<V>::type;
    constexpr bool is_largest = is_same<typename Op::no_better, less_equal_op>;
    u32 upper = four_bytes(v), lower = upper << 8;
#pragma unroll
    for (u64 n = 4; n < N; n += 4) {
      const u32 word = four_bytes(v + n);
      upper = extreme_pair<is_largest, Half>(upper, word);
      lower = extreme_pair<is_largest, Half>(lower, word << 8);
    }
    const u32 best = extreme_pair<is_largest, Half>(upper, lower);
    return static_cast<V>(extreme_pair<is_largest, Half>(best, best << 16) >> 24);
  } else {
    V best = v[0];
#pragma unroll
    for (u64 n = 1; n < N; ++n) best = better<Op>(best, v[n]);
    return best;
  }
}

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

/// An element at any position, for a reducer that locates an extreme.
template <class Op, class T, class V>
__device__ void take_anywhere(located<T>& a, V v, i64 i) {
  const T value = convert<T>(v);
  const bool is_tie = !Op::beats(value, a.value) && !Op::beats(a.value, value);
  if (is_tie ? i < a.index : Op::beats(value, a.value)) a = {value, i};
}

/// The elements of v, the best of which is `best`; the first one has position `first`, the others
/// follow `step` > 0 apart.
template <class Op, class T, class U, class V, u64 N>
__device__ void take_vector(located<T>& a, U best, const V (&v)[N], i64 first, i64 step) {
  const U before = convert<U>(a.value);
  if (!Op::beats(best, before) && (first >= a.index || Op::beats(before, best))) return;
  take_anywhere<Op>(a, best, first + Op::place_of(best, v) * step);
}

}  // namespace quarry::kernels
