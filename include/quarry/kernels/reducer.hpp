// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>

/// What a reduction computes, apart from how it walks the data:
///   identity<Acc>()      the neutral element
///   lift<Acc>(v, i)      one element with its C-order position among the reduced ones
///   combine(a, b)        associative; a comes before b
///   finish<Out>(a, n)    the result from the total of n elements
namespace quarry::kernels {

/// An element and where it was: the accumulator of argmin and argmax.
template <class T>
struct located {
  T value;
  i64 index;
};

struct plain_finish {
  template <class Acc, class V>
  QUARRY_HD static Acc lift(V v, i64) {
    return convert<Acc>(v);
  }
  template <class Out, class Acc>
  QUARRY_HD static Out finish(Acc a, i64) {
    return convert<Out>(a);
  }
};

struct sum_of : plain_finish {
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

struct prod_of : plain_finish {
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
struct min_of : plain_finish {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return limits<Acc>::highest();
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return minimum_op::apply<Acc>(a, b);
  }
};

struct max_of : plain_finish {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return limits<Acc>::lowest();
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return maximum_op::apply<Acc>(a, b);
  }
};

struct any_of : plain_finish {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return false;
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return a || b;
  }
};

struct all_of : plain_finish {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    return true;
  }
  template <class Acc>
  QUARRY_HD static Acc combine(Acc a, Acc b) {
    return a && b;
  }
};

/// The first of equal extremes; the first NaN wins over everything. An index below zero means "none yet".
template <class Extreme>
struct arg_of {
  template <class Acc>
  QUARRY_HD static Acc identity() {
    Acc a{};
    a.index = -1;
    return a;
  }
  template <class Acc, class V>
  QUARRY_HD static Acc lift(V v, i64 i) {
    Acc a{};
    a.value = convert<decltype(a.value)>(v);
    a.index = i;
    return a;
  }
  template <class T>
  QUARRY_HD static located<T> combine(located<T> a, located<T> b) {
    if (b.index < 0) return a;
    if (a.index < 0) return b;
    const bool nan_a = isnan_op::apply<T>(a.value), nan_b = isnan_op::apply<T>(b.value);
    if (nan_a || nan_b) return nan_a && (!nan_b || a.index < b.index) ? a : b;
    if (equal_op::apply<T>(a.value, b.value)) return a.index < b.index ? a : b;
    return equal_op::apply<T>(Extreme::template apply<T>(a.value, b.value), a.value) ? a : b;
  }
  template <class Out, class Acc>
  QUARRY_HD static Out finish(Acc a, i64) {
    return convert<Out>(a.index);
  }
};
using argmin_of = arg_of<minimum_op>;
using argmax_of = arg_of<maximum_op>;

}  // namespace quarry::kernels
