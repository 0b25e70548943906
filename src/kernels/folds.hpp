// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/chains.hpp"
#include "kernels/row_lanes.hpp"

/// The loops of folds<Reducer, Acc, Value> (kernels/reduce.hpp); its explicit instantiations are in
/// folds_*.cpp.
namespace quarry::kernels {

/// A piece of values into one accumulator: for reducers without another way, one after another.
/// `together` folds rows with vectors whose lanes are rows, and returns how many: short rows are
/// faster so.
struct one_by_one {
  template <u64 Width, class Acc>
  QUARRY_INLINED static i64 together(Acc*, i64, i64, const char*, i64, i64) {
    return 0;
  }
};
template <class R, class Acc, class Value = typename value_of<Acc>::type>
struct piece_fold : one_by_one {
  template <u64 Width>
  QUARRY_INLINED static void run(Acc& acc, const Value* values, i64 n, i64 first) {
    for (i64 i = 0; i < n; ++i) R::take(acc, values[i], first + i);
  }
};

/// The type in which sums and products are computed: integers wrap.
template <class T>
struct chain_element {
  using type = real_type<T>;
};
template <class T>
requires(is_integer<T>) struct chain_element<T> {
  using type = make_unsigned<T>;
};

template <class R, class Operation, class Acc>
struct chain_fold {
  using Real = typename chain_element<Acc>::type;
  static constexpr int parts = is_complex<Acc> ? 2 : 1;

  QUARRY_INLINED static Real neutral() {
    const Acc all = R::template identity<Acc>();
    Real real;
    __builtin_memcpy(&real, &all, sizeof(real));
    return real;
  }
  template <u64 Width>
  QUARRY_INLINED static void run(Acc& acc, const Acc* values, i64 n, i64 /*first*/) {
    Acc total;
    lanes::fold<Operation, Width, parts>(reinterpret_cast<Real*>(&total), neutral(),
                                         reinterpret_cast<const Real*>(values), n * parts);
    acc = R::combine(acc, total);
  }
  template <u64 Width>
  QUARRY_INLINED static i64 together(Acc* acc, i64 rows, i64 n, const char* values, i64 step,
                                     i64 /*first*/) {
    if constexpr (is_complex<Acc>) return 0;
    constexpr i64 count = Width / sizeof(Real);
    i64 r = 0;
    for (; r + count <= rows; r += count) {
      vector<Real, Width> total[Width / sizeof(Real)];
      for (i64 j = 0; j < count; ++j) {
        const auto* const row = reinterpret_cast<const Real*>(values + (r + j) * step);
        lanes::fold_into_lanes<Operation, Width>(total[j], neutral(), row, n);
      }
      lanes::fold_lanes_of_rows<Operation, Width, Real>(total);
      vector<Real, Width> before;
      lanes::read(before, reinterpret_cast<const Real*>(acc + r));
      Operation::take(before, total[0]);
      __builtin_memcpy(acc + r, &before, Width);
    }
    return r;
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

/// Calls f(first row, address) for as many rows as a vector has lanes, as long as it returns true
/// (there is no NaN); how many rows those were.
template <u64 Width, class T, class F>
QUARRY_INLINED i64 for_lanes_of_rows(i64 rows, const char* values, i64 step, const F& f) {
  constexpr i64 count = Width / sizeof(T);
  i64 r = 0;
  while (r + count <= rows && f(r, values + r * step)) r += count;
  return r;
}
/// Longer rows, in vectors, are folded one by one.
inline constexpr i64 most_together = 8;

template <class R, bool IsMax, class Acc>
struct extreme_fold {
  using Value = typename value_of<Acc>::type;
  template <u64 Width>
  QUARRY_INLINED static void run(Acc& acc, const Value* values, i64 n, i64 /*first*/) {
    using T = typename compared<Value>::type;
    const auto found =
        lanes::extreme_of<IsMax, false, Width>(reinterpret_cast<const T*>(values), n);
    if constexpr (is_floating<Acc>) {
      if (found.has_nan) return void(acc = limits<Acc>::nan());
    }
    acc = R::combine(acc, convert<Acc>(found.value));
  }
  template <u64 Width>
  QUARRY_INLINED static i64 together(Acc* acc, i64 rows, i64 n, const char* values, i64 step,
                                     i64 /*first*/) {
    using T = typename compared<Value>::type;
    constexpr u64 width = lanes::row_width<Width, T>;
    constexpr i64 count = width / sizeof(T);
    if (n < count || n > most_together * count) return 0;
    const auto take = [=](i64 r, const char* from) __attribute__((always_inline)) {
      vector<T, width> extremes;
      if (!lanes::extremes_of_rows<IsMax, width, T>(extremes, from, step, n)) return false;
      T found[width / sizeof(T)];
      __builtin_memcpy(found, &extremes, width);
      for (i64 j = 0; j < count; ++j) acc[r + j] = R::combine(acc[r + j], convert<Acc>(found[j]));
      return true;
    };
    return for_lanes_of_rows<width, T>(rows, values, step, take);
  }
};
template <class Acc>
requires(!is_complex<Acc>) struct piece_fold<min_of, Acc> : extreme_fold<min_of, false, Acc> {
};
template <class Acc>
requires(!is_complex<Acc>) struct piece_fold<max_of, Acc> : extreme_fold<max_of, true, Acc> {
};

/// Whether positions are kept with the extremes: those of smaller elements do not fit their lanes,
/// and are searched for.
template <class T>
inline constexpr bool keeps_position = sizeof(T) >= 4;

template <class R, bool IsMax, class T>
struct position_fold {
  using Value = typename value_of<T>::type;
  template <u64 Width>
  QUARRY_INLINED static void run(located<T>& acc, const Value* values, i64 n, i64 first) {
    using C = typename compared<Value>::type;
    if (acc.value != acc.value) return;
    const auto* const compared = reinterpret_cast<const C*>(values);
    const auto found = lanes::extreme_of<IsMax, keeps_position<C>, Width>(compared, n);
    if (found.has_nan) {
      i64 i = 0;
      while (compared[i] == compared[i]) ++i;
      acc = {limits_nan(), first + i};
    } else if (const T value = convert<T>(found.value); R::beats(value, acc.value)) {
      constexpr i64 part = lanes::lane_extremes<IsMax, true, Width, C>::step;
      const i64 left = n - found.begin, some = keeps_position<C> && part < left ? part : left;
      const i64 at = lanes::position_of(compared + found.begin, some, found.value);
      acc = {value, first + found.begin + at};
    }
  }
  template <u64 Width>
  QUARRY_INLINED static i64 together(located<T>* acc, i64 rows, i64 n, const char* values, i64 step,
                                     i64 first) {
    using C = typename compared<Value>::type;
    constexpr u64 width = lanes::row_width<Width, C>;
    constexpr i64 count = width / sizeof(C);
    const bool is_short = n <= most_together * count;
    if (n < count || (!is_short && !keeps_position<C>)) return 0;
    const auto take = [=](i64 r, const char* from) __attribute__((always_inline)) {
      vector<C, width> extremes;
      C found[width / sizeof(C)];
      i64 at[width / sizeof(C)];
      if (is_short) {
        if (!lanes::positions_in_rows<IsMax, width, C>(extremes, at, from, step, n)) return false;
      } else if constexpr (keeps_position<C>) {
        if (!lanes::positions_in_long_rows<IsMax, width, C>(extremes, at, from, step, n)) {
          return false;
        }
      }
      __builtin_memcpy(found, &extremes, width);
      for (i64 j = 0; j < count; ++j) {
        const T value = convert<T>(found[j]);
        if (R::beats(value, acc[r + j].value)) acc[r + j] = {value, first + at[j]};
      }
      return true;
    };
    return for_lanes_of_rows<width, C>(rows, values, step, take);
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
struct truth_fold : one_by_one {
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

/// A value into each of n accumulators, of which all have taken as many before, or those of
/// `together` rows, to access accumulators less often; or, where there is a `batch`, values of up
/// to that many rows into each of up to `block`. The first row is reduced element `at`.
template <class R, class Acc, class Value = typename value_of<Acc>::type>
struct column_fold {
  static constexpr i64 together = 4;
  template <i64 Rows>
  QUARRY_INLINED static void run_rows(Acc* __restrict to, i64 n, const char* values, i64 step,
                                      i64 at) {
    for (i64 i = 0; i < n; ++i) {
      Acc next = to[i];
      QUARRY_UNROLLED
      for (i64 r = 0; r < Rows; ++r) {
        R::take(next, load<Value>(reinterpret_cast<const Value*>(values + r * step) + i), at + r);
      }
      to[i] = next;
    }
  }
  QUARRY_INLINED static void run(Acc* to, i64 n, const Value* from, i64 at) {
    run_rows<1>(to, n, reinterpret_cast<const char*>(from), 0, at);
  }
};

/// Extremes and their places in a batch of rows, as lanes of one size, which are merged with what
/// is there after the last row.
template <class R, bool IsMax, class T>
struct position_column_fold {
  using Value = typename compared<typename value_of<T>::type>::type;
  using Place = typename unsigned_of<sizeof(Value)>::type;
  static constexpr i64 batch = sizeof(Value) == 1 ? 128 : 512, block = 64;
  static_assert(static_cast<i64>(static_cast<Place>(batch - 1)) == batch - 1);

  QUARRY_INLINED static void run_block(located<T>* to, i64 n, const char* values, i64 rows,
                                       i64 step, i64 at) {
    Value best[block];
    Place place[block] = {};
    __builtin_memcpy(best, values, static_cast<u64>(n) * sizeof(Value));
    for (i64 r = 1; r < rows; ++r) {
      const auto* const row = reinterpret_cast<const Value*>(values + r * step);
      for (i64 i = 0; i < n; ++i) {
        const Value x = row[i], y = best[i];
        const bool is_better = (IsMax ? x > y : x < y) | ((x != x) & (y == y));
        best[i] = is_better ? x : y;
        place[i] = is_better ? static_cast<Place>(r) : place[i];
      }
    }
    for (i64 i = 0; i < n; ++i) {
      const T value = convert<T>(best[i]);
      if (R::beats(value, to[i].value)) to[i] = {value, at + static_cast<i64>(place[i])};
    }
  }
};
template <class T>
requires(!is_complex<T>) struct column_fold<argmin_of, located<T>>
    : position_column_fold<argmin_of, false, T> {
};
template <class T>
requires(!is_complex<T>) struct column_fold<argmax_of, located<T>>
    : position_column_fold<argmax_of, true, T> {
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
template <class R, class Acc, class Value>
struct fold_of {
  using Piece = piece_fold<R, Acc, Value>;
  using Column = column_fold<R, Acc, Value>;

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
    auto* const to = static_cast<Acc*>(acc);
    i64 r = Piece::template together<Width>(to, rows, n, bytes, step, first);
    for (; r < rows; ++r) {
      Piece::template run<Width>(to[r], reinterpret_cast<const Value*>(bytes + r * step), n, first);
    }
  }
  QUARRY_INLINED static void columns_any(void* acc, i64 n, const void* values, i64 rows, i64 step,
                                         i64 at) {
    const auto* const bytes = static_cast<const char*>(values);
    auto* const to = static_cast<Acc*>(acc);
    if constexpr (requires { Column::batch; }) {
      constexpr i64 batch = Column::batch;
      constexpr i64 block = Column::block, size = sizeof(Value);
      for (i64 r = 0; r < rows; r += batch) {
        const i64 count = rows - r < batch ? rows - r : batch;
        const char* const row = bytes + r * step;
        i64 i = 0;
        for (; i + block <= n; i += block) {  // a constant number
          Column::run_block(to + i, block, row + i * size, count, step, at + r);
        }
        if (i < n) Column::run_block(to + i, n - i, row + i * size, count, step, at + r);
      }
    } else {
      i64 r = 0;
      if constexpr (requires { Column::together; }) {
        for (; r + Column::together <= rows; r += Column::together) {
          Column::template run_rows<Column::together>(to, n, bytes + r * step, step, at + r);
        }
      }
      for (; r < rows; ++r) {
        Column::run(to, n, reinterpret_cast<const Value*>(bytes + r * step), at + r);
      }
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
template <class R, class Acc, class Value>
const fold_loops folds<R, Acc, Value>::loops = [] {
  using F = fold_of<R, Acc, Value>;
  return fold_loops{
      sizeof(Acc),
      sizeof(Value),
      F::begin,
      F::merge,
      {F::rows, F::rows_256, is_complex<Acc> ? F::rows_256 : F::rows_512},
      {F::columns, F::columns_256, is_complex<Acc> ? F::columns_256 : F::columns_512}};
}();

}  // namespace quarry::kernels
