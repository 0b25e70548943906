// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/cpu_context.hpp>

#include "kernels/lanes.hpp"

/// Sums and products of floating numbers. Whatever the width of vectors, they have the same chains,
/// so all widths give the same bits.
namespace quarry::kernels::lanes {

/// The bytes of all chains of a sum or a product.
inline constexpr u64 chain_bytes = 256;
template <class T>
inline constexpr i64 chains = chain_bytes / sizeof(T);

/// What is folded of each value.
struct as_it_is {
  template <class V>
  QUARRY_INLINED void change(V&) const {}
  template <class T>
  QUARRY_INLINED T of(T value, i64) const {
    return value;
  }
};
template <class T>
struct multiplied {
  T by;
  template <class V>
  QUARRY_INLINED void change(V& v) const {
    v = v * by;
  }
  QUARRY_INLINED T of(T value, i64) const { return value * by; }
};
/// Of value i and number i % Parts.
template <class T, int Parts>
struct squared_distance {
  T from[2];
  template <class V>
  QUARRY_INLINED void change(V& v) const {
    V d = V{} + from[0];
    if constexpr (Parts == 2) {
      for (u64 k = 1; k < sizeof(V) / sizeof(T); k += 2) d[k] = from[1];
    }
    v = (v - d) * (v - d);
  }
  QUARRY_INLINED T of(T value, i64 i) const {
    const T d = value - from[i % Parts];
    return d * d;
  }
};

/// As many values as a vector has lanes, of which `n` are read.
template <u64 Width, class T, class F>
QUARRY_INLINED void read_some(vector<T, Width>& v, T neutral, const T* values, i64 n, i64 first,
                              const F& what) {
  constexpr i64 lanes = Width / sizeof(T);
  T lane[Width / sizeof(T)];
  for (i64 j = 0; j < lanes; ++j) lane[j] = j < n ? what.of(values[j], first + j) : neutral;
  read(v, lane);
}
/// `rounds` values of every chain.
template <class Operation, class V, u64 Count, class T, class F>
QUARRY_INLINED void fold_rounds(V (&chain)[Count], T neutral, const T* values, i64 rounds,
                                const F& what) {
  constexpr u64 lanes = sizeof(V) / sizeof(T);
  for (V& v : chain) v = V{} + neutral;
  for (i64 r = 0; r < rounds; ++r, values += Count * lanes) {
    for (u64 k = 0; k < Count; ++k) {
      V v;
      read(v, values + k * lanes);
      what.change(v);
      Operation::take(chain[k], v);
    }
  }
}

/// The values in one vector of totals, whose lanes are still to be folded. Whole rounds are taken
/// eight at a time into chains of their own, so that errors grow slowly. A neutral value changes
/// nothing: no chain is ever -0. Chains have constant numbers, so that they are in registers.
template <class Operation, u64 Width, class T, class F = as_it_is>
QUARRY_INLINED void fold_into_lanes(vector<T, Width>& lane_totals, T neutral, const T* values,
                                    i64 n, const F& what = {}) {
  using V = vector<T, Width>;
  constexpr u64 count = chain_bytes / Width;
  constexpr i64 step = chains<T>, lanes = Width / sizeof(T), most = 8;
  if (n % lanes == 0 && n <= 4 * lanes) {
    const auto begin = [&](V & total, i64 at) __attribute__((always_inline)) {
      total = V{} + neutral;
      if (at >= n) return;
      V v;
      read(v, values + at);
      what.change(v);
      Operation::take(total, v);
    };
    V b{}, c{}, d{};
    begin(lane_totals, 0);
    begin(b, lanes);
    begin(c, 2 * lanes);
    begin(d, 3 * lanes);
    Operation::take(lane_totals, c);
    Operation::take(b, d);
    return Operation::take(lane_totals, b);
  }
  const i64 rounds = n / step;
  V total[count], part[count] = {};  // GCC would warn of the second one
  fold_rounds<Operation>(total, neutral, values, rounds < most ? rounds : most, what);
  for (i64 r = most; r < rounds; r += most) {
    fold_rounds<Operation>(part, neutral, values + r * step, rounds - r < most ? rounds - r : most,
                           what);
    for (u64 k = 0; k < count; ++k) Operation::take(total[k], part[k]);
  }
  if (const i64 first = rounds * step, left = n - first; left > 0) {
    const u64 whole = static_cast<u64>(left / lanes);
    V last = V{} + neutral;
    if (left % lanes != 0) {
      const i64 at = n - left % lanes;
      read_some<Width>(last, neutral, values + at, left % lanes, at, what);
    }
    QUARRY_UNROLLED
    for (u64 k = 0; k < count; ++k) {
      V v = last;
      if (k < whole) {
        read(v, values + first + static_cast<i64>(k) * lanes);
        what.change(v);
      }
      if (k <= whole) Operation::take(total[k], v);
    }
  }
  for (u64 width = count / 2; width > 0; width /= 2) {
    for (u64 k = 0; k < width; ++k) Operation::take(total[k], total[k + width]);
  }
  lane_totals = total[0];
}

/// The values in `Parts` totals, where value i is in total i % Parts (a complex number is two).
template <class Operation, u64 Width, int Parts, class T, class F = as_it_is>
QUARRY_INLINED void fold(T* totals, T neutral, const T* values, i64 n, const F& what = {}) {
  vector<T, Width> lane_totals;
  fold_into_lanes<Operation, Width>(lane_totals, neutral, values, n, what);
  fold_lanes<Operation, Width, Parts>(totals, lane_totals);
}

}  // namespace quarry::kernels::lanes
