// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reducer.hpp>

/// Reducers that read their elements once where the formula has two passes: a batch of elements is
/// taken in two passes, and what it has given is merged with what is there.
namespace quarry::kernels {

/// The mean of `count` elements, and the sum of the squared distances from it.
template <class T>
struct moments {
  T mean;
  real_type<T> squares, count;
};
template <class T>
struct value_of<moments<T>> : value_of<T> {};

/// The sum of squared distances from the mean. Batches are merged by the formula of Chan, Golub and
/// LeVeque (Updating formulae and a pairwise algorithm for computing sample variances, 1979).
struct moments_of {
  static constexpr bool takes_batches = true;

  template <class T>
  QUARRY_HD static T scaled(T x, real_type<T> by) {
    if constexpr (is_complex<T>)
      return {x.re * by, x.im * by};
    else
      return x * by;
  }
  template <class T>
  QUARRY_HD static real_type<T> square_of(T x) {
    if constexpr (is_complex<T>)
      return x.re * x.re + x.im * x.im;
    else
      return x * x;
  }

  template <class Acc>
  QUARRY_HD static Acc identity() {
    return Acc{};
  }
  template <class T, class V>
  QUARRY_HD static void take(moments<T>& a, V v, i64) {
    const T x = convert<T>(v);
    // no distance, but NaN of what has none
    a = combine(a, moments<T>{x, square_of(math::subtract(x, x)), 1});
  }
  template <class T, class V, u64 N, class At>
  QUARRY_HD static void take_all(moments<T>& a, const V (&v)[N], const At&) {
    take_some(a, v, 0, static_cast<int>(N));
  }
  template <class T, class V, u64 N>
  QUARRY_HD static void take_some(moments<T>& a, const V (&v)[N], int first, int last) {
    take_those(a, v, last - first, [=](int j) { return j >= first && j < last; });
  }
  template <class T, class V, u64 N, class Taken>
  QUARRY_HD static void take_those(moments<T>& a, const V (&v)[N], int count,
                                   const Taken& is_taken) {
    constexpr int n = static_cast<int>(N);
    using Real = real_type<T>;
    moments<T> batch{T{}, 0, static_cast<Real>(count)};
    const Real share = 1 / batch.count;
    QUARRY_UNROLL
    for (int j = 0; j < n; ++j) {
      const T part = scaled(convert<T>(v[j]), share);
      batch.mean = math::add(batch.mean, is_taken(j) ? part : T{});
    }
    QUARRY_UNROLL
    for (int j = 0; j < n; ++j) {
      const Real square = square_of(math::subtract(convert<T>(v[j]), batch.mean));
      batch.squares += is_taken(j) ? square : Real(0);
    }
    a = combine(a, batch);
  }
  /// By half of the distance between the means, which is finite where they are.
  template <class T>
  QUARRY_HD static moments<T> combine(const moments<T>& a, const moments<T>& b) {
    using Real = real_type<T>;
    if (b.count == 0) return a;
    const Real count = a.count + b.count, share = b.count / count;
    const T half = math::subtract(scaled(b.mean, Real(0.5)), scaled(a.mean, Real(0.5)));
    const T step = scaled(half, share);
    const Real weight = a.count * share;
    const Real between = weight == 0 ? 0 : square_of(math::add(half, half)) * weight;
    return {math::add(math::add(a.mean, step), step), (a.squares + b.squares) + between, count};
  }
  template <class Out, class T, class C>
  QUARRY_HD static Out finish(const moments<T>& a, const C&) {
    return convert<Out>(a.squares);
  }
};

/// The largest of the elements that are no NaN, and the sum of the exponentials of all of them less
/// `shift(largest)`.
template <class T>
struct exponentials {
  T largest, sum;
};
template <class T>
struct value_of<exponentials<T>> : value_of<T> {};

/// The logarithm of the sum of exponentials.
struct exponentials_of {
  static constexpr bool takes_batches = true;

  template <class T>
  QUARRY_HD static T shift(T largest) {
    return math::isfinite(largest) ? largest : T(0);
  }
  template <class T>
  QUARRY_HD static T larger(T x, T y) {
    return y > x ? y : x;
  }
  /// What a sum is multiplied by when the largest element becomes `to`.
  template <class T>
  QUARRY_HD static T scale(T from, T to) {
    return from == to ? T(1) : math::exp(from - to);
  }

  template <class Acc>
  QUARRY_HD static Acc identity() {
    using T = decltype(Acc::sum);
    return {limits<T>::lowest(), 0};
  }
  template <class T, class V>
  QUARRY_HD static void take(exponentials<T>& a, V v, i64) {
    const V one[] = {v};
    take_all(a, one, 0);
  }
  template <class T, class V, u64 N, class At>
  QUARRY_HD static void take_all(exponentials<T>& a, const V (&v)[N], const At&) {
    constexpr int n = static_cast<int>(N);
    T largest = a.largest;
    QUARRY_UNROLL
    for (int j = 0; j < n; ++j) largest = larger(largest, convert<T>(v[j]));
    const T by = shift(largest);
    T sum = a.sum * scale(a.largest, largest);
    QUARRY_UNROLL
    for (int j = 0; j < n; ++j) sum += math::exp(convert<T>(v[j]) - by);
    a = {largest, sum};
  }
  template <class T>
  QUARRY_HD static exponentials<T> combine(exponentials<T> a, exponentials<T> b) {
    const T largest = larger(a.largest, b.largest);
    return {largest, a.sum * scale(a.largest, largest) + b.sum * scale(b.largest, largest)};
  }
  template <class Out, class T, class C>
  QUARRY_HD static Out finish(exponentials<T> a, const C&) {
    return convert<Out>(shift(a.largest) + math::log(a.sum));
  }
};

}  // namespace quarry::kernels
