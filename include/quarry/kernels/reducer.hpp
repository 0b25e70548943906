// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>

/// What a reduction computes, apart from how it walks the data:
///   identity<Acc>()      the neutral element
///   take(a, v, i)        adds one element with its C-order position i among the reduced ones;
///                        `a` has taken none behind it
///   combine(a, b)        associative and commutative
///   finish<Out>(a, n)    the result from the total of n elements
namespace quarry::kernels {

/// An element and where it was: the accumulator of argmin and argmax.
template <class T>
struct located {
  T value;
  i64 index;
};

template <class R>
struct simple_reducer {
  template <class Acc, class V>
  QUARRY_HD static void take(Acc& a, V v, i64) {
    a = R::combine(a, convert<Acc>(v));
  }
  template <class Out, class Acc>
  QUARRY_HD static Out finish(Acc a, i64) {
    return convert<Out>(a);
  }
};

struct sum_of : simple_reducer<sum_of> {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return convert<Acc>(0);
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return add_op::apply<Acc>(a, b);
  }
};

struct mean_of : sum_of {
  template <class Out, class Acc>
  QUARRY_HD static Out finish(Acc a, i64 n) {
    return convert<Out>(divide_op::apply<Acc>(a, convert<Acc>(n)));
  }
};

struct prod_of : simple_reducer<prod_of> {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return convert<Acc>(1);
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return multiply_op::apply<Acc>(a, b);
  }
};

/// NaN propagates, as in NumPy.
struct min_of : simple_reducer<min_of> {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return limits<Acc>::highest();
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return minimum_op::apply<Acc>(a, b);
  }
};

struct max_of : simple_reducer<max_of> {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return limits<Acc>::lowest();
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return maximum_op::apply<Acc>(a, b);
  }
};

struct any_of : simple_reducer<any_of> {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return false;
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return a || b;
  }
};

struct all_of : simple_reducer<all_of> {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return true;
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return a && b;
  }
};

/// The first of equal extremes; the first NaN wins over everything. `NoBetter` compares two values.
/// An element that does not beat the identity is never taken: when none has been, all are equal and
/// the first one counts.
template <class NoBetter, bool Lowest>
struct arg_of {
  static constexpr i64 nowhere = limits<i64>::highest();

  template <class T>
  QUARRY_HD static bool beats(T x, T y) {
    // true for every NaN but a complex one
    const bool is_better = !NoBetter::template apply<T>(x, y);
    if constexpr (is_complex<T>)
      return (is_better || math::isnan(x)) && !math::isnan(y);
    else
      return is_better && y == y;
  }
  template <class Acc>
  QUARRY_HD static Acc identity() {
    using T = decltype(Acc::value);
    return {Lowest ? limits<T>::highest() : limits<T>::lowest(), nowhere};
  }
  template <class T, class V>
  QUARRY_HD static void take(located<T>& a, V v, i64 i) {
    const T value = convert<T>(v);
    if (beats(value, a.value)) a = {value, i};
  }
  template <class T>
  QUARRY_HD static located<T> combine(located<T> a, located<T> b) {
    const bool is_earlier = b.index < a.index && !beats(a.value, b.value);
    return is_earlier || beats(b.value, a.value) ? b : a;
  }
  template <class Out, class Acc>
  QUARRY_HD static Out finish(Acc a, i64) {
    return convert<Out>(a.index == nowhere ? 0 : a.index);
  }
};
using argmin_of = arg_of<greater_equal_op, true>;
using argmax_of = arg_of<less_equal_op, false>;

}  // namespace quarry::kernels
