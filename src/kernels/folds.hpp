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
      i64 i = 0;
      while (compared[i] == compared[i]) ++i;
      acc = {limits_nan(), first + i};
    } else if (const T value = convert<T>(found.value); R::beats(value, acc.value)) {
      acc = {value, first + lanes::position_of(compared, n, found.value)};
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

/// Bools are bytes there.
template <bool IsZero>
struct truth_column_fold {
  QUARRY_INLINED static void run(bool* to, i64 n, const bool* values, i64 /*at*/) {
    auto* const __restrict all = reinterpret_cast<u8*>(to);
    const auto* const __restrict from = reinterpret_cast<const u8*>(values);
    for (i64 i = 0; i < n; ++i) {
      const u8 value = from[i] != 0 ? 1 : 0;
      all[i] = IsZero ? all[i] & value : all[i] | value;
    }
  }
};
template <>
struct column_fold<any_of, bool> : truth_column_fold<false> {};
template <>
struct column_fold<all_of, bool> : truth_column_fold<true> {};

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
  QUARRY_INLINED static void rows_any(void* acc, i64 rows, i64 n, const void* values, i64 step,
                                      i64 first) {
    const auto* const bytes = static_cast<const char*>(values);
    for (i64 r = 0; r < rows; ++r) {
      piece_fold<R, Acc>::template run<Width>(
          static_cast<Acc*>(acc)[r], reinterpret_cast<const Value*>(bytes + r * step), n, first);
    }
  }
  QUARRY_INLINED static void columns_any(void* acc, i64 n, const void* values, i64 rows, i64 step,
                                         i64 at) {
    const auto* const bytes = static_cast<const char*>(values);
    for (i64 r = 0; r < rows; ++r) {
      column_fold<R, Acc>::run(static_cast<Acc*>(acc), n,
                               reinterpret_cast<const Value*>(bytes + r * step), at + r);
    }
  }

  static void rows(void* acc, i64 rows, i64 n, const void* values, i64 step, i64 first) {
    rows_any<16>(acc, rows, n, values, step, first);
  }
  static void columns(void* acc, i64 n, const void* values, i64 rows, i64 step, i64 at) {
    columns_any(acc, n, values, rows, step, at);
  }
#ifdef __x86_64__
#ifdef __clang__
#define QUARRY_PREFER_512
#else
#define QUARRY_PREFER_512 ",prefer-vector-width=512"
#endif
#define QUARRY_COPIES(suffix, width, instructions)                           \
  __attribute__((target(instructions))) static void rows_##suffix(           \
      void* acc, i64 rows, i64 n, const void* values, i64 step, i64 first) { \
    rows_any<width>(acc, rows, n, values, step, first);                      \
  }                                                                          \
  __attribute__((target(instructions))) static void columns_##suffix(        \
      void* acc, i64 n, const void* values, i64 rows, i64 step, i64 at) {    \
    columns_any(acc, n, values, rows, step, at);                             \
  }
  QUARRY_COPIES(256, 32, "avx2")
  QUARRY_COPIES(512, 64, "avx512f,avx512vl,avx512bw,avx512dq" QUARRY_PREFER_512)
#else
  static constexpr auto rows_256 = rows, rows_512 = rows;
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
    {fold_of<R, Acc>::rows, fold_of<R, Acc>::rows_256,
     is_complex<Acc> ? fold_of<R, Acc>::rows_256 : fold_of<R, Acc>::rows_512},
    {fold_of<R, Acc>::columns, fold_of<R, Acc>::columns_256,
     is_complex<Acc> ? fold_of<R, Acc>::columns_256 : fold_of<R, Acc>::columns_512}};

}  // namespace quarry::kernels
