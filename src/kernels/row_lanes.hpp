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

/// How many of n >= lanes values are left from the first one on that is the row's; those of row r
/// begin at row(r).
template <u64 Width, class T, class F>
QUARRY_INLINED void left_in_rows(left_from<T>* left, const vector<T, Width>& values, i64 n,
                                 const F& row) {
  using P = vector<left_from<T>, Width>;
  constexpr u64 lanes = Width / sizeof(T);
  T wanted[lanes];
  __builtin_memcpy(wanted, &values, Width);
  P most[lanes], lane;
  number<left_from<T>>(lane, std::make_integer_sequence<int, static_cast<int>(lanes)>());
  for (u64 r = 0; r < lanes; ++r) {
    const T* const from = row(r);
    P all{};
    for_vectors<static_cast<i64>(lanes)>(
        n, [&](i64 i) __attribute__((always_inline)) {
          vector<T, Width> v;
          read(v, from + i);
          const P here = static_cast<left_from<T>>(n - i) - lane;
          extreme_of_two<true>::take(all, here & reinterpret_cast<P>(v == wanted[r]));
        });
    most[r] = all;
  }
  fold_lanes_of_rows<extreme_of_two<true>, Width, left_from<T>>(most);
  __builtin_memcpy(left, &most[0], Width);
}

/// The same as extremes_of_rows, and the first positions. Whole rows are searched.
template <bool IsMax, u64 Width, class T>
QUARRY_INLINED bool positions_in_rows(vector<T, Width>& extremes, i64* positions, const char* rows,
                                      i64 step, i64 n) {
  constexpr u64 lanes = Width / sizeof(T);
  if (!extremes_of_rows<IsMax, Width, T>(extremes, rows, step, n)) return false;
  left_from<T> left[lanes];
  left_in_rows<Width, T>(
      left, extremes, n, [=](u64 r) __attribute__((always_inline)) {
        return reinterpret_cast<const T*>(rows + static_cast<i64>(r) * step);
      });
  for (u64 r = 0; r < lanes; ++r) positions[r] = n - static_cast<i64>(left[r]);
  return true;
}

/// The same of longer rows: those vectors are searched that were taken together and have them.
template <bool IsMax, u64 Width, class T>
QUARRY_INLINED bool positions_in_long_rows(vector<T, Width>& extremes, i64* positions,
                                           const char* rows, i64 step, i64 n) {
  using Lanes = lane_extremes<IsMax, true, Width, T>;
  constexpr u64 lanes = Width / sizeof(T);
  const auto row = [=](u64 r) __attribute__((always_inline)) {
    return reinterpret_cast<const T*>(rows + static_cast<i64>(r) * step);
  };
  typename Lanes::V best[lanes], folded[lanes];
  typename Lanes::P there[lanes];
  decltype(best[0] != best[0]) nan{};
  for (u64 r = 0; r < lanes; ++r) {
    Lanes all;
    all.take_all(row(r), n);
    best[r] = folded[r] = all.best;
    there[r] = all.left;
    nan |= (all.nan[0] | all.nan[1]) | (all.nan[2] | all.nan[3]);
  }
  if (is_floating<T> && any_bits<Width>(nan)) return false;
  fold_lanes_of_rows<extreme_of_two<IsMax>, Width, T>(folded);
  extremes = folded[0];
  T wanted[lanes];
  __builtin_memcpy(wanted, &extremes, Width);
  for (u64 r = 0; r < lanes; ++r) {
    there[r] &= reinterpret_cast<typename Lanes::P>(best[r] == wanted[r]);
  }
  fold_lanes_of_rows<extreme_of_two<true>, Width, left_from<T>>(there);
  left_from<T> most[lanes], left[lanes];
  __builtin_memcpy(most, &there[0], Width);
  const auto begin = [&](u64 r) __attribute__((always_inline)) {
    const i64 some = static_cast<i64>(most[r]);
    return n - (some < Lanes::step ? Lanes::step : some);
  };
  left_in_rows<Width, T>(
      left, extremes,
      Lanes::step, [&](u64 r) __attribute__((always_inline)) { return row(r) + begin(r); });
  for (u64 r = 0; r < lanes; ++r) {
    positions[r] = begin(r) + Lanes::step - static_cast<i64>(left[r]);
  }
  return true;
}

}  // namespace quarry::kernels::lanes
