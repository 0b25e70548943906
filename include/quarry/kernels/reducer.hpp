// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>

/// What a reduction computes, independent of the order in which the elements are read:
///   identity<Acc>()      the neutral element
///   take(a, v, i)        adds one element with its C-order position i among the reduced ones; all
///                        that `a` has taken before have smaller positions
///   combine(a, b)        associative and commutative
///   finish<Out>(a, c)    the result from the total of c.count() elements; the call's scalars are
///                        there too, c.scalar<T, S>()
/// Where `takes_batches` is true:
///   take_all(a, v, at)   adds the elements of the array v, whose positions at(0), at(1), ...
///   ascend
/// Where positions do not matter there may be
///   take_some(a, v, first, last)  adds those of them that are at [first, last), one at least
///   take_those(a, v, count, f)    adds those for whose places f is true, `count`, one at least
namespace quarry::kernels {

/// An element and where it was: the accumulator of argmin and argmax.
template <class T>
struct located {
  T value;
  i64 index;
};

template <class Acc>
inline constexpr bool is_located = false;
template <class T>
inline constexpr bool is_located<located<T>> = true;

/// The type of the values that an accumulator takes: no half precision, which is slow to compute
/// with, and whose order is that of float.
template <class Acc>
struct value_of {
  using type = Acc;
};
template <class T>
struct value_of<located<T>> : value_of<T> {};
template <>
struct value_of<float16> {
  using type = float;
};
template <>
struct value_of<bfloat16> {
  using type = float;
};

template <class R>
struct simple_reducer {
  static constexpr bool takes_batches = false;
  template <class Acc, class V>
  QUARRY_HD static void take(Acc& a, V v, i64) {
    a = R::combine(a, convert<Acc>(v));
  }
};

#define QUARRY_REDUCTION(method, function, result, neutral, combined, finished, ...) \
  struct method##_of : simple_reducer<method##_of> {                                 \
    template <class Acc>                                                             \
    QUARRY_HD static Acc identity() {                                                \
      return neutral;                                                                \
    }                                                                                \
    template <class Acc>                                                             \
    QUARRY_HD static Acc combine(Acc a, Acc b) {                                     \
      return combined;                                                               \
    }                                                                                \
    template <class Out, class Acc, class C>                                         \
    QUARRY_HD static Out finish(Acc a, const C& c) {                                 \
      [[maybe_unused]] const i64 n = c.count();                                      \
      return convert<Out>(finished);                                                 \
    }                                                                                \
  };
#define QUARRY_LOCATION(...)
#include <quarry/kernels/reductions.def>
#undef QUARRY_REDUCTION
#undef QUARRY_LOCATION

/// The first of equal extremes; the first NaN wins over everything. `NoBetter` compares two values.
/// An element that does not beat the identity is never taken: if none was, all elements equal the
/// identity, and the result is the first one. Batches are taken by best_first
/// (kernels/located.cuh).
template <class NoBetter>
struct arg_of {
  using no_better = NoBetter;
  static constexpr i64 nowhere = limits<i64>::highest();
  static constexpr bool takes_batches = true;

  template <class T>
  QUARRY_HD static bool beats(T x, T y) {
    // true for every NaN but a complex one
    const bool is_better = !NoBetter::template apply<T>(x, y);
    if constexpr (is_complex<T>)
      return (is_better || math::isnan(x)) && !math::isnan(y);
    else
      return is_better && y == y;
  }
  template <class T, class V>
  QUARRY_HD static void take(located<T>& a, V v, i64 i) {
    const T value = convert<T>(v);
    if (beats(value, a.value)) a = {value, i};
  }
  /// Where the first element of v is that is as good as the best of them.
  template <class U, class V, u64 N>
  QUARRY_HD static int place_of(U best, const V (&v)[N]) {
    int place = 0;
    QUARRY_UNROLL
    for (int j = static_cast<int>(N) - 1; j >= 0; --j) {
      if (!beats(best, convert<U>(v[j]))) place = j;
    }
    return place;
  }
  /// The best element of a batch, with the position of the batch.
  template <class T, class U>
  QUARRY_HD static void take_best(located<T>& a, U best, i64 position) {
    if (beats(best, convert<U>(a.value))) a = {convert<T>(best), position};
  }
  template <class T>
  QUARRY_HD static located<T> combine(located<T> a, located<T> b) {
    const bool is_earlier = b.index < a.index && !beats(a.value, b.value);
    return is_earlier || beats(b.value, a.value) ? b : a;
  }
  template <class Out, class Acc, class C>
  QUARRY_HD static Out finish(Acc a, const C& /*c*/) {
    return convert<Out>(a.index == nowhere ? 0 : a.index);
  }
};

#define QUARRY_REDUCTION(...)
#define QUARRY_LOCATION(method, function, no_better, neutral, ...) \
  struct method##_of : arg_of<no_better> {                         \
    template <class Acc>                                           \
    QUARRY_HD static Acc identity() {                              \
      return {limits<decltype(Acc::value)>::neutral(), nowhere};   \
    }                                                              \
  };
#include <quarry/kernels/reductions.def>
#undef QUARRY_REDUCTION
#undef QUARRY_LOCATION

/// Reduction R to a T, to which expression E is applied before it is stored: there E finds
/// result<T> and the call's scalars.
template <class R, class T, class E>
struct applied_to : R {
  template <class C>
  struct context {
    const C& c;
    T value;
    QUARRY_HD T result() const { return value; }
    template <class S, int K>
    QUARRY_HD S scalar() const {
      return c.template scalar<S, K>();
    }
  };
  template <class Out, class Acc, class C>
  QUARRY_HD static Out finish(Acc a, const C& c) {
    return convert<Out>(E{}(context<C>{c, R::template finish<T>(a, c)}));
  }
};

/// The result T of a reduction, which is left at the address in scalar S, too, unless that is 0.
template <class T, int S>
struct left_at {
  template <class C>
  QUARRY_HD T operator()(const C& c) const {
    const T result = c.result();
    if (const u64 at = c.template scalar<u64, S>()) *reinterpret_cast<T*>(at) = result;
    return result;
  }
};

}  // namespace quarry::kernels
