// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/statistics.hpp>

/// What a program computes of rows: a reduction of each row, and of its total every element anew.
///   reducer, accumulator   the reduction
///   of(acc, c)             the total of a row, two values: `first`, of the type of the values that
///                          the accumulator takes, and `second`
///   element<X, A, B>       the expression of element X and of the two values
namespace quarry::kernels {

/// The element of a row (I = 0), or what its row has given, in the expression of a program.
template <class T, int I>
struct row_value {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    return c.template row<T, I>();
  }
};

template <class A, class B>
struct row_total {
  A first;
  B second;
};

/// e^x / (the sum of e^x over the row), for T that is no half precision.
template <class T>
struct softmax_of {
  using reducer = exponentials_of;
  using accumulator = exponentials<T>;
  using second = T;
  using total = row_total<T, T>;
  template <class C>
  QUARRY_HD static total of(const accumulator& a, const C&) {
    const bool is_infinite = a.largest == limits<T>::highest();
    return {a.largest, is_infinite ? limits<T>::nan() : 1 / a.sum};
  }
  template <class X, class A, class B>
  using element = op<multiply_op, T, op<exp_op, T, op<subtract_op, T, X, A>>, B>;
};

/// Its logarithm.
template <class T>
struct log_softmax_of {
  using reducer = exponentials_of;
  using accumulator = exponentials<T>;
  using second = T;
  using total = row_total<T, T>;
  template <class C>
  QUARRY_HD static total of(const accumulator& a, const C&) {
    return {exponentials_of::shift(a.largest), math::log(a.sum)};
  }
  template <class X, class A, class B>
  using element = op<subtract_op, T, op<subtract_op, T, X, A>, B>;
};

/// (x - mean) / (standard deviation of the row), whose squares are divided by scalar S of the call.
template <class T, int S>
struct standardise_of {
  using Real = real_type<T>;
  using reducer = moments_of;
  using accumulator = moments<T>;
  using second = Real;
  using total = row_total<T, Real>;
  template <class C>
  QUARRY_HD static total of(const accumulator& a, const C& c) {
    return {a.mean, math::sqrt(a.squares / c.template scalar<Real, S>())};
  }
  template <class X, class A, class B>
  using element = op<divide_op, T, op<subtract_op, T, X, A>, B>;
};

}  // namespace quarry::kernels
