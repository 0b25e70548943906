// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/lanes.hpp"

/// Folds of several rows at once: the lanes of a vector are rows.
namespace quarry::kernels::lanes {

/// The bytes of the vectors in which rows are compared together: there are at most 16 of them.
template <u64 Width, class T>
inline constexpr u64 row_width = Width < 16 * sizeof(T) ? Width : 16 * sizeof(T);
/// Calls f(i) for the first elements of the vectors that make up n >= lanes elements; the last one
/// may begin among the elements of the one before.
template <i64 Lanes, class F>
QUARRY_INLINED void for_vectors(i64 n, const F& f) {
  for (i64 i = 0; i + Lanes < n; i += Lanes) f(i);
  f(n - Lanes);
}

/// The extremes of rows of n values, as many rows as a vector has lanes, and not less values. False
/// if there is a NaN.
template <bool IsMax, u64 Width, class T>
QUARRY_INLINED bool extremes_of_rows(vector<T, Width>& extremes, const char* rows, i64 step,
                                     i64 n) {
  using V = vector<T, Width>;
  constexpr u64 lanes = Width / sizeof(T);
  V best[lanes];
  decltype(best[0] != best[0]) nan{};
  for (u64 r = 0; r < lanes; ++r) {
    const T* const row = reinterpret_cast<const T*>(rows + static_cast<i64>(r) * step);
    V all;
    read(all, row);
    for_vectors<static_cast<i64>(lanes)>(
        n, [&](i64 i) __attribute__((always_inline)) {
          V v;
          read(v, row + i);
          extreme_of_two<IsMax>::take(all, v);
          if constexpr (is_floating<T>) nan |= v != v;
        });
    best[r] = all;
  }
  fold_lanes_of_rows<extreme_of_two<IsMax>, Width, T>(best);
  extremes = best[0];
  return !is_floating<T> || !any_bits<Width>(nan);
}

/// The first positions of these values, one for each row.
template <u64 Width, class T>
QUARRY_INLINED void positions_in_rows(lane_position<T>* positions, const vector<T, Width>& values,
                                      const char* rows, i64 step, i64 n) {
  using V = vector<T, Width>;
  using P = vector<lane_position<T>, Width>;
  constexpr u64 lanes = Width / sizeof(T);
  T wanted[lanes];
  __builtin_memcpy(wanted, &values, Width);
  P first[lanes], lane;
  number<lane_position<T>>(lane, std::make_integer_sequence<int, static_cast<int>(lanes)>());
  for (u64 r = 0; r < lanes; ++r) {
    const T* const row = reinterpret_cast<const T*>(rows + static_cast<i64>(r) * step);
    const V value = V{} + wanted[r];
    P least = ~P{};
    for_vectors<static_cast<i64>(lanes)>(
        n, [&](i64 i) __attribute__((always_inline)) {
          V v;
          read(v, row + i);
          const P at = (lane + static_cast<lane_position<T>>(i)) | ~reinterpret_cast<P>(v == value);
          extreme_of_two<false>::take(least, at);
        });
    first[r] = least;
  }
  fold_lanes_of_rows<extreme_of_two<false>, Width, lane_position<T>>(first);
  __builtin_memcpy(positions, &first[0], Width);
}

}  // namespace quarry::kernels::lanes
