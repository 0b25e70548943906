// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/folds.hpp"

/// Sums of integers of less than 64 bits and of bools, as they are in memory: exact, in lanes that
/// are widened before they overflow.
namespace quarry::kernels {
namespace lanes {

template <class T, class Wide = typename unsigned_of<2 * sizeof(T)>::type>
using twice_as_wide = std::conditional_t<is_signed<T>, std::make_signed_t<Wide>, Wide>;
/// The type of sums of a few T. Bools are bytes that are not 0.
template <class T>
using sum_of_few = twice_as_wide<typename compared<T>::type>;
/// So many pairs of T have sums of that type.
template <class T>
inline constexpr i64 most_pairs = i64{1} << (8 * sizeof(T) - 1);
/// The type of sums of all of them.
template <class T>
using exact_sum = std::conditional_t<is_signed<T>, i64, u64>;

/// Adds the sum of each pair of lanes.
template <class T, u64 Width, class Wide = twice_as_wide<T>>
QUARRY_INLINED void add_pairs(vector<Wide, Width>& sums, const vector<T, Width>& v) {
  if constexpr (sizeof(T) == 4 && is_signed<T>) {  // AVX2 has no signed shift of 64 bits
    constexpr u64 low = 0xffffffff, sign = 0x80000000;
    const auto raised = reinterpret_cast<vector<u64, Width>>(v) ^ (sign << 32 | sign);
    const auto sum = (raised & low) + (raised >> 32) - 2 * sign;
    sums += reinterpret_cast<vector<Wide, Width>>(sum);
  } else {
    constexpr int bits = 8 * sizeof(T);
    const auto pairs = reinterpret_cast<vector<Wide, Width>>(v);
    sums += ((pairs << bits) >> bits) + (pairs >> bits);
  }
}

/// Adds all lanes to those of 64 bits.
template <class T, u64 Width, class Total = exact_sum<T>>
QUARRY_INLINED void add_widened(vector<Total, Width>& totals, const vector<T, Width>& v) {
  if constexpr (sizeof(T) == 8) {
    totals += v;
  } else {
    using Wide = twice_as_wide<T>;
    vector<Wide, Width> sums = {};
    add_pairs<T, Width>(sums, v);
    add_widened<Wide, Width>(totals, sums);
  }
}

template <u64 Width, class T>
QUARRY_INLINED exact_sum<T> sum_of_narrow(const T* values, i64 n) {
  using Lane = typename compared<T>::type;
  using V = vector<Lane, Width>;
  constexpr i64 lanes = Width / sizeof(T), most = most_pairs<Lane> * lanes;
  if constexpr (Width > 16) {
    if (n < lanes) return sum_of_narrow<16>(values, n);
  }
  const auto take = [](auto& sums, const T* from) __attribute__((always_inline)) {
    V v;
    __builtin_memcpy(&v, from, Width);
    if constexpr (is_bool<T>) v = reinterpret_cast<V>(v != 0) & 1;
    add_pairs<Lane, Width>(sums, v);
  };
  using Sums = vector<sum_of_few<T>, Width>;
  vector<exact_sum<T>, Width> totals = {};
  i64 i = 0;
  while (i + lanes <= n) {
    Sums sums = {};
    const i64 end = n - i > most ? i + most : n;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      for (i64 k = 0; k < 4; ++k) take(sums, values + i + k * lanes);
    }
    for (; i + lanes <= end; i += lanes) take(sums, values + i);
    add_widened<sum_of_few<T>, Width>(totals, sums);
  }
  if (i < n) {
    T rest[Width / sizeof(T)] = {};
    __builtin_memcpy(rest, values + i, static_cast<u64>(n - i) * sizeof(T));
    Sums sums = {};
    take(sums, rest);
    add_widened<sum_of_few<T>, Width>(totals, sums);
  }
  exact_sum<T> total;
  fold_lanes<plus, Width, 1>(&total, totals);
  return total;
}

}  // namespace lanes

template <class R, class Acc, class T>
requires(!is_same<T, typename value_of<Acc>::type>) struct piece_fold<R, Acc, T> : one_by_one {
  template <u64 Width>
  QUARRY_INLINED static void run(Acc& acc, const T* values, i64 n, i64 /*first*/) {
    acc = R::combine(acc, convert<Acc>(lanes::sum_of_narrow<Width>(values, n)));
  }
};

/// A batch of rows goes into sums that are as narrow as they may be.
template <class R, class Acc, class T>
requires(!is_same<T, typename value_of<Acc>::type>) struct column_fold<R, Acc, T> {
  using Value = typename compared<T>::type;
  static constexpr i64 batch = sizeof(T) == 1 ? 128 : 512, block = 64;
  static_assert(batch <= 2 * lanes::most_pairs<Value>);

  QUARRY_INLINED static void run_block(Acc* to, i64 n, const char* values, i64 rows, i64 step,
                                       i64 /*at*/) {
    using Sum = lanes::sum_of_few<T>;
    Sum sum[block] = {};
    for (i64 r = 0; r < rows; ++r) {
      const auto* const row = reinterpret_cast<const Value*>(values + r * step);
      for (i64 i = 0; i < n; ++i) {
        const auto value = is_bool<T> ? static_cast<Value>(row[i] != 0) : row[i];
        sum[i] = static_cast<Sum>(sum[i] + value);
      }
    }
    for (i64 i = 0; i < n; ++i) to[i] = R::combine(to[i], convert<Acc>(sum[i]));
  }
};

}  // namespace quarry::kernels
