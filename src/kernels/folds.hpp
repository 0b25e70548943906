// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/lanes.hpp"

/// The loops of folds<Reducer, Acc> (kernels/reduce.hpp); its explicit instantiations are in
/// folds_*.cpp.
namespace quarry::kernels {

/// A piece of values into one accumulator: for reducers without another way, one after another.
template <class R, class Acc>
struct piece_fold {
  using Value = typename value_of<Acc>::type;
  template <u64 Width>
  QUARRY_INLINED static void run(Acc& acc, const Value* values, i64 n, i64 first) {
    for (i64 i = 0; i < n; ++i) R::take(acc, values[i], first + i);
  }
};

template <class R, class Operation, class Acc>
struct chain_fold {
  template <u64 Width>
  QUARRY_INLINED static void run(Acc& acc, const Acc* values, i64 n, i64 /*first*/) {
    using Real = real_type<Acc>;
    constexpr int parts = is_complex<Acc> ? 2 : 1;
    Acc total;
    if constexpr (is_integer<Acc>) {
      using Word = make_unsigned<Acc>;
      lanes::fold<Operation, Width, 1>(reinterpret_cast<Word*>(&total),
                                       static_cast<Word>(R::template identity<Acc>()),
                                       reinterpret_cast<const Word*>(values), n);
    } else {
      const Acc neutral = R::template identity<Acc>();
      Real real;
      __builtin_memcpy(&real, &neutral, sizeof(real));
      lanes::fold<Operation, Width, parts>(reinterpret_cast<Real*>(&total), real,
                                           reinterpret_cast<const Real*>(values), n * parts);
    }
    acc = R::combine(acc, total);
  }
};
template <class Acc>
struct piece_fold<sum_of, Acc> : chain_fold<sum_of, lanes::plus, Acc> {};
template <class Acc>
struct piece_fold<mean_of, Acc> : chain_fold<mean_of, lanes::plus, Acc> {};
template <class Acc>
requires(!is_complex<Acc>) struct piece_fold<prod_of, Acc>
    : chain_fold<prod_of, lanes::times, Acc> {
};

/// Bools are compared as bytes.
template <class T>
struct compared {
  using type = T;
};
template <>
struct compared<bool> {
  using type = u8;
};

template <class R, bool IsMax, class Acc>
struct extreme_fold {
  using Value = typename value_of<Acc>::type;
  template <u64 Width>
  QUARRY_INLINED static void run(Acc& acc, const Value* values, i64 n, i64 /*first*/) {
    using T = typename compared<Value>::type;
    const auto found = lanes::extreme_of<IsMax, Width>(reinterpret_cast<const T*>(values), n);
    if constexpr (is_floating<Acc>) {
      if (found.has_nan) return void(acc = limits<Acc>::nan());
    }
    acc = R::combine(acc, convert<Acc>(found.value));
  }
};
template <class Acc>
requires(!is_complex<Acc>) struct piece_fold<min_of, Acc> : extreme_fold<min_of, false, Acc> {
};
template <class Acc>
requires(!is_complex<Acc>) struct piece_fold<max_of, Acc> : extreme_fold<max_of, true, Acc> {
};

template <class R, bool IsMax, class T>
struct position_fold {
  using Value = typename value_of<T>::type;
  template <u64 Width>
  QUARRY_INLINED static void run(located<T>& acc, const Value* values, i64 n, i64 first) {
    using C = typename compared<Value>::type;
    if (acc.value != acc.value) return;
    const auto* const compared = reinterpret_cast<const C*>(values);
    const auto found = lanes::extreme_of<IsMax, Width>(compared, n);
    if (found.has_nan) {
      acc = {limits_nan(), first + lanes::position_of(compared, n, [](C x) { return x != x; })};
    } else if (const T value = convert<T>(found.value); R::beats(value, acc.value)) {
      const C best = found.value;
      acc = {value, first + lanes::position_of(compared, n, [=](C x) { return x == best; })};
    }
  }
  static T limits_nan() {
    if constexpr (is_floating<T>)
      return limits<T>::nan();
    else
      return T{};
  }
};
template <class T>
requires(!is_complex<T>) struct piece_fold<argmin_of, located<T>>
    : position_fold<argmin_of, false, T> {
};
template <class T>
requires(!is_complex<T>) struct piece_fold<argmax_of, located<T>>
    : position_fold<argmax_of, true, T> {
};

template <bool IsZero>
struct truth_fold {
  template <u64 Width>
  QUARRY_INLINED static void run(bool& acc, const bool* values, i64 n, i64 /*first*/) {
    if (acc != IsZero) return;
    if (lanes::has_byte<IsZero, Width>(reinterpret_cast<const u8*>(values), n)) acc = !IsZero;
  }
};
template <>
struct piece_fold<any_of, bool> : truth_fold<false> {};
template <>
struct piece_fold<all_of, bool> : truth_fold<true> {};

/// A value into each of n accumulators, of which all have taken as many before.
template <class R, class Acc>
struct column_fold {
  using Value = typename value_of<Acc>::type;
  QUARRY_INLINED static void run(Acc* __restrict to, i64 n, const Value* __restrict from, i64 at) {
    for (i64 i = 0; i < n; ++i) {
      Acc next = to[i];
      if constexpr (is_bool<Value>)
        R::take(next, load<bool>(from + i), at);
      else
        R::take(next, from[i], at);
      to[i] = next;
    }
  }
};

/// The loops for one length of vectors, and for all of them.
template <class R, class Acc>
struct fold_of {
  using Value = typename value_of<Acc>::type;

  static void begin(void* acc, i64 n) {
    for (i64 i = 0; i < n; ++i) static_cast<Acc*>(acc)[i] = R::template identity<Acc>();
  }
  static void merge(void* a, const void* b, i64 n) {
    auto* const to = static_cast<Acc*>(a);
    for (i64 i = 0; i < n; ++i) to[i] = R::combine(to[i], static_cast<const Acc*>(b)[i]);
  }
  template <u64 Width>
  QUARRY_INLINED static void run_any(void* acc, i64 n, const void* values, i64 first) {
    piece_fold<R, Acc>::template run<Width>(*static_cast<Acc*>(acc),
                                            static_cast<const Value*>(values), n, first);
  }
  QUARRY_INLINED static void columns_any(void* acc, i64 n, const void* values, i64 at) {
    column_fold<R, Acc>::run(static_cast<Acc*>(acc), n, static_cast<const Value*>(values), at);
  }

  static void run(void* acc, i64 n, const void* values, i64 first) {
    run_any<16>(acc, n, values, first);
  }
  static void columns(void* acc, i64 n, const void* values, i64 at) {
    columns_any(acc, n, values, at);
  }
#ifdef __x86_64__
#define QUARRY_WITH_512 \
  __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq" QUARRY_PREFER_512)))
#ifdef __clang__
#define QUARRY_PREFER_512
#else
#define QUARRY_PREFER_512 ",prefer-vector-width=512"
#endif
  __attribute__((target("avx2"))) static void run_256(void* acc, i64 n, const void* values,
                                                      i64 first) {
    run_any<32>(acc, n, values, first);
  }
  __attribute__((target("avx2"))) static void columns_256(void* acc, i64 n, const void* values,
                                                          i64 at) {
    columns_any(acc, n, values, at);
  }
  QUARRY_WITH_512 static void run_512(void* acc, i64 n, const void* values, i64 first) {
    run_any<64>(acc, n, values, first);
  }
  QUARRY_WITH_512 static void columns_512(void* acc, i64 n, const void* values, i64 at) {
    columns_any(acc, n, values, at);
  }
#else
  static constexpr auto run_256 = run, run_512 = run;
  static constexpr auto columns_256 = columns, columns_512 = columns;
#endif
};

// Of pairs of real and imaginary parts GCC makes fused multiply-adds of AVX-512 in spite of its
// options.
template <class R, class Acc>
const fold_loops folds<R, Acc>::loops{
    sizeof(Acc),
    sizeof(typename value_of<Acc>::type),
    fold_of<R, Acc>::begin,
    fold_of<R, Acc>::merge,
    {fold_of<R, Acc>::run, fold_of<R, Acc>::run_256,
     is_complex<Acc> ? fold_of<R, Acc>::run_256 : fold_of<R, Acc>::run_512},
    {fold_of<R, Acc>::columns, fold_of<R, Acc>::columns_256,
     is_complex<Acc> ? fold_of<R, Acc>::columns_256 : fold_of<R, Acc>::columns_512}};

}  // namespace quarry::kernels
