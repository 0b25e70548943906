// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reducer.hpp>

#include "kernels/vector.cuh"

/// The best of a warp's elements and the first place of it, by instructions that compare the words
/// of all lanes at once.
namespace quarry::kernels {

/// Whether a reducer locates the largest value, not the smallest.
template <class Op>
inline constexpr bool is_largest = is_same<typename Op::no_better, less_equal_op>;

/// Whether order_of is there for the values of an accumulator.
template <class Acc>
inline constexpr bool has_order = false;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <class T>
inline constexpr bool has_order<located<T>> = sizeof(T) <= 4;
#endif

/// The larger, the better a value is for a reducer that locates it. A NaN is best.
template <class Op, class V>
__device__ u32 order_of(V v) {
  constexpr u32 sign = 0x80000000u;
  u32 order;
  if constexpr (is_integer<V> || is_bool<V>) {
    order = is_signed<V> ? static_cast<u32>(static_cast<i32>(v)) ^ sign : static_cast<u32>(v);
  } else {
    const float x = convert<float>(v) + 0.f;  // -0 becomes 0
    if (x != x) return ~u32{0};
    memcpy(&order, &x, sizeof order);
    order ^= (order & sign) != 0 ? ~u32{0} : sign;
  }
  return is_largest<Op> ? order : ~order;
}

/// As Op::combine of the accumulators of all 32 lanes, in each of them.
template <class Op, class T>
__device__ located<T> best_of_warp(const located<T>& own) {
  constexpr u32 all = 0xffffffffu;
  const u32 order = order_of<Op>(own.value), best = __reduce_max_sync(all, order);
  const u32 high = static_cast<u32>(own.index >> 32), low = static_cast<u32>(own.index);
  const u32 first_high = __reduce_min_sync(all, order == best ? high : all);
  const bool is_early = order == best && high == first_high;
  const u32 first_low = __reduce_min_sync(all, is_early ? low : all);
  const u32 found = __ballot_sync(all, is_early && low == first_low);
  u32 word = 0;
  memcpy(&word, &own.value, sizeof own.value);
  word = __shfl_sync(all, word, lowest_bit(found), 32);
  located<T> result{own.value, static_cast<i64>(u64{first_high} << 32 | first_low)};
  memcpy(static_cast<void*>(&result.value), &word, sizeof result.value);
  return result;
}

}  // namespace quarry::kernels
