// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
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

  /// a + x * by, and a + |x|^2: of real numbers by one instruction on GPUs, which rounds once.
  template <class T>
  QUARRY_HD static T plus_scaled(T a, T x, real_type<T> by) {
#ifdef __CUDA_ARCH__
    if constexpr (is_same<T, float>) return __fmaf_rn(x, by, a);
    if constexpr (is_same<T, double>) return __fma_rn(x, by, a);
#endif
    return math::add(a, scaled(x, by));
  }
  template <class T>
  QUARRY_HD static real_type<T> plus_square(real_type<T> a, T x) {
    if constexpr (is_complex<T>)
      return a + square_of(x);
    else
      return plus_scaled(a, x, x);
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
    a = combine(a, batch_of<T>(v, count, is_taken));
  }
  /// Of N elements v[j] to each of several accumulators, which have taken equally many before.
  template <class T, class V, u64 Count, u64 N>
  QUARRY_HD static void take_alike(moments<T>* a, const V (&v)[Count][N]) {
    const weights<real_type<T>> by(a[0].count, N);
    QUARRY_UNROLL
    for (int j = 0; j < static_cast<int>(Count); ++j) {
      a[j] = merged(a[j], batch_of<T>(v[j], static_cast<int>(N), [](int) { return true; }), by);
    }
  }
  /// Of `count` elements, those of v that are taken and of those that others have: total(x) is the
  /// sum of all their x.
  template <class T, class V, u64 N, class Taken, class Total>
  QUARRY_HD static moments<T> of_shared(const V (&v)[N], i64 count, const Taken& is_taken,
                                        const Total& total) {
    constexpr int n = static_cast<int>(N);
    using Real = real_type<T>;
    moments<T> batch{T{}, 0, static_cast<Real>(count)};
    const Real share = 1 / batch.count;
    QUARRY_UNROLL
    for (int j = 0; j < n; ++j) {
      const T with = plus_scaled(batch.mean, convert<T>(v[j]), share);
      batch.mean = is_taken(j) ? with : batch.mean;
    }
    batch.mean = total(batch.mean);
    QUARRY_UNROLL
    for (int j = 0; j < n; ++j) {
      const Real with = plus_square(batch.squares, math::subtract(convert<T>(v[j]), batch.mean));
      batch.squares = is_taken(j) ? with : batch.squares;
    }
    batch.squares = total(batch.squares);
    return batch;
  }
  template <class T>
  QUARRY_HD static moments<T> combine(const moments<T>& a, const moments<T>& b) {
    return b.count == 0 ? a : merged(a, b, {a.count, b.count});
  }
  template <class Out, class T, class C>
  QUARRY_HD static Out finish(const moments<T>& a, const C&) {
    return convert<Out>(a.squares);
  }

 private:
  /// The total of what nobody shares.
  struct of_one {
    template <class X>
    QUARRY_HD const X& operator()(const X& x) const {
      return x;
    }
  };
  template <class T, class V, u64 N, class Taken>
  QUARRY_HD static moments<T> batch_of(const V (&v)[N], int count, const Taken& is_taken) {
    return of_shared<T>(v, count, is_taken, of_one{});
  }

  /// For elements that are merged with others: the number of all, the share of these, and what the
  /// squared distance between the means counts.
  template <class Real>
  struct weights {
    Real count, share, of_distance;
    QUARRY_HD weights(Real others, Real these)
        : count(others + these), share(these / count), of_distance(others * share) {}
  };
  /// By half of the distance between the means, which is finite where they are.
  template <class T>
  QUARRY_HD static moments<T> merged(const moments<T>& a, const moments<T>& b,
                                     const weights<real_type<T>>& by) {
    using Real = real_type<T>;
    const T half = plus_scaled(scaled(b.mean, Real(0.5)), a.mean, Real(-0.5));
    const T mean = plus_scaled(plus_scaled(a.mean, half, by.share), half, by.share);
    const Real squares = a.squares + b.squares, apart = square_of(math::add(half, half));
    return {mean, by.of_distance == 0 ? squares : plus_scaled(squares, apart, by.of_distance),
            by.count};
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

/// The sum of bytes, and that of their squares, in kernels of GPUs: exact of up to 2^47 of them.
struct byte_powers {
  i64 sum, squares;
};
template <>
struct value_of<byte_powers> : value_of<double> {};

/// Whether kernels of GPUs have them as accumulators of a reduction of E, since the moments are
/// those of bytes.
template <class E, class Op, class Acc, class C>
inline constexpr bool has_exact_moments = false;
template <class E, class Op, class C>
requires(__is_base_of(moments_of,
                      Op)) inline constexpr bool has_exact_moments<E, Op, moments<double>, C> =
    is_byte<value_in<E, C>>;
template <class A, class Op, class C>
requires(__is_base_of(moments_of, Op)) inline constexpr bool has_exact_moments<
    cast<double, A>, Op, moments<double>, C> = is_byte<value_in<A, C>>;

}  // namespace quarry::kernels
