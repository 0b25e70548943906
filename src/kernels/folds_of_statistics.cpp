// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/statistics.hpp>

#include "kernels/folds.hpp"

namespace quarry::kernels {

template <class T>
struct piece_fold<moments_of, moments<T>> : one_by_one {
  using Real = real_type<T>;
  static constexpr int parts = is_complex<T> ? 2 : 1;

  template <u64 Width>
  QUARRY_INLINED static void run(moments<T>& acc, const T* values, i64 n, i64 /*first*/) {
    const auto* const real = reinterpret_cast<const Real*>(values);
    const auto count = static_cast<Real>(n);
    Real mean[2] = {}, squares[2] = {};
    lanes::fold<lanes::plus, Width, parts>(mean, Real(0), real, n * parts);
    for (Real& part : mean) part /= count;
    if (!math::isfinite(mean[0]) || !math::isfinite(mean[1])) {  // the sum may have overflowed
      lanes::fold<lanes::plus, Width, parts>(mean, Real(0), real, n * parts,
                                             lanes::multiplied<Real>{1 / count});
    }
    lanes::fold<lanes::plus, Width, parts>(
        squares, Real(0), real, n * parts,
        lanes::squared_distance<Real, parts>{{mean[0], mean[1]}});
    moments<T> piece{T{}, squares[0] + squares[1], count};
    __builtin_memcpy(&piece.mean, mean, sizeof(T));
    acc = moments_of::combine(acc, piece);
  }
};

/// As moments_of::take_all of some rows at a time, with one division for all columns.
template <class T>
struct column_fold<moments_of, moments<T>> {
  using Real = real_type<T>;
  static constexpr i64 batch = 16, block = 64;

  QUARRY_INLINED static void run_block(moments<T>* __restrict to, i64 n, const char* values,
                                       i64 rows, i64 step, i64 /*at*/) {
    const Real count = static_cast<Real>(rows);
    T mean[block] = {};
    Real squares[block] = {};
    for (i64 r = 0; r < rows; ++r) {
      const auto* const __restrict row = reinterpret_cast<const T*>(values + r * step);
      for (i64 i = 0; i < n; ++i) {
        mean[i] = math::add(mean[i], moments_of::scaled(row[i], 1 / count));
      }
    }
    for (i64 r = 0; r < rows; ++r) {
      const auto* const __restrict row = reinterpret_cast<const T*>(values + r * step);
      for (i64 i = 0; i < n; ++i) {
        squares[i] += moments_of::square_of(math::subtract(row[i], mean[i]));
      }
    }
    merge(to, n, mean, squares, count);
  }
  /// As moments_of::combine.
  QUARRY_INLINED static void merge(moments<T>* __restrict to, i64 n, const T* mean,
                                   const Real* squares, Real count) {
    const Real before = to[0].count, all = before + count, share = count / all;
    const Real weight = before * share;
    for (i64 i = 0; i < n; ++i) {
      const T old = to[i].mean;
      const T half = math::subtract(moments_of::scaled(mean[i], Real(0.5)),
                                    moments_of::scaled(old, Real(0.5)));
      const T step = moments_of::scaled(half, share);
      const Real apart = moments_of::square_of(math::add(half, half)) * weight;
      const Real between = weight == 0 ? 0 : apart;
      to[i] = {math::add(math::add(old, step), step), (to[i].squares + squares[i]) + between, all};
    }
  }
};

template <class T>
struct piece_fold<exponentials_of, exponentials<T>> : one_by_one {
  template <u64 Width>
  QUARRY_INLINED static void run(exponentials<T>& acc, const T* values, i64 n, i64 /*first*/) {
    const auto found = lanes::extreme_of<true, false, Width>(values, n);
    if (found.has_nan) return void(acc.sum = limits<T>::nan());
    const T by = exponentials_of::shift(found.value);
    constexpr i64 block = 256;
    T term[block];
    exponentials<T> piece{found.value, 0};
    for (i64 i = 0; i < n; i += block) {
      const i64 count = n - i < block ? n - i : block;
      for (i64 j = 0; j < count; ++j) term[j] = math::exp(values[i + j] - by);
      T total[1];
      lanes::fold<lanes::plus, Width, 1>(total, T(0), term, count);
      piece.sum += total[0];
    }
    acc = exponentials_of::combine(acc, piece);
  }
};

/// One exponential a value: either the sum is scaled by it, or it is the term.
template <class T>
struct column_fold<exponentials_of, exponentials<T>> {
  QUARRY_INLINED static void run(exponentials<T>* __restrict to, i64 n, const T* __restrict from,
                                 i64) {
    for (i64 i = 0; i < n; ++i) {
      const T x = from[i], largest = to[i].largest, sum = to[i].sum;
      const T apart = x == largest ? T(0) : x > largest ? largest - x : x - largest;
      const T e = math::exp(apart);
      const T one = x == limits<T>::lowest() ? T(0) : x == limits<T>::highest() ? x : T(1);
      to[i] = {x > largest ? x : largest, x > largest ? sum * e + one : sum + e * one};
    }
  }
};

template struct folds<moments_of, moments<float>>;
template struct folds<moments_of, moments<double>>;
template struct folds<moments_of, moments<complex<float>>>;
template struct folds<moments_of, moments<complex<double>>>;
template struct folds<exponentials_of, exponentials<float>>;
template struct folds<exponentials_of, exponentials<double>>;

}  // namespace quarry::kernels
