// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>

/// Folds of values that lie side by side, with vectors of `Width` bytes. Whatever the width, a sum
/// or a product of floating numbers has the same chains, so all widths give the same bits.
namespace quarry::kernels::lanes {

// Always inlined: a loop is compiled for the instruction set of the function that calls it.
#define QUARRY_INLINED [[gnu::always_inline]] inline

template <class T, u64 Width>
struct vector_of {
  using type __attribute__((vector_size(Width))) = T;
};
template <class T, u64 Width>
using vector = typename vector_of<T, Width>::type;

template <class V, class T>
QUARRY_INLINED void read(V& v, const T* from) {
  __builtin_memcpy(&v, from, sizeof(V));
}

/// The bytes of all chains of a sum or a product.
inline constexpr u64 chain_bytes = 256;
template <class T>
inline constexpr i64 chains = chain_bytes / sizeof(T);

struct plus {
  template <class V>
  QUARRY_INLINED static void take(V& a, const V& b) {
    a = a + b;
  }
};
struct times {
  template <class V>
  QUARRY_INLINED static void take(V& a, const V& b) {
    a = a * b;
  }
};

/// What is folded of each value.
struct as_it_is {
  template <class V>
  QUARRY_INLINED void change(V&) const {}
  template <class T>
  QUARRY_INLINED T of(T value, i64) const {
    return value;
  }
};
template <class T>
struct multiplied {
  T by;
  template <class V>
  QUARRY_INLINED void change(V& v) const {
    v = v * by;
  }
  QUARRY_INLINED T of(T value, i64) const { return value * by; }
};
/// Of value i and number i % Parts.
template <class T, int Parts>
struct squared_distance {
  T from[2];
  template <class V>
  QUARRY_INLINED void change(V& v) const {
    V d{};
    for (u64 k = 0; k < sizeof(V) / sizeof(T); ++k) d[k] = from[k % Parts];
    v = (v - d) * (v - d);
  }
  QUARRY_INLINED T of(T value, i64 i) const {
    const T d = value - from[i % Parts];
    return d * d;
  }
};

/// Takes the whole rounds among the n values into the chains, eight rounds at a time into chains of
/// their own, so that errors grow slowly. Returns how many values it has taken.
template <class Operation, u64 Width, class T, class F>
QUARRY_INLINED i64 take_rounds(T* chain, T neutral, const T* values, i64 n, const F& what) {
  using V = vector<T, Width>;
  constexpr u64 count = chain_bytes / Width;
  constexpr i64 step = chains<T>, lanes = Width / sizeof(T);
  V total[count] = {}, part[count] = {};
  for (V& v : total) v = V{} + neutral;
  i64 i = 0;
  while (i + step <= n) {
    for (V& v : part) v = V{} + neutral;
    const i64 end = i + 8 * step < n ? i + 8 * step : n;
    for (; i + step <= end; i += step) {
      for (u64 k = 0; k < count; ++k) {
        V v;
        read(v, values + i + static_cast<i64>(k) * lanes);
        what.change(v);
        Operation::take(part[k], v);
      }
    }
    for (u64 k = 0; k < count; ++k) Operation::take(total[k], part[k]);
  }
  __builtin_memcpy(chain, total, sizeof(total));
  return i;
}

/// The values in `Parts` totals, where value i is in total i % Parts (a complex number is two).
template <class Operation, u64 Width, int Parts, class T, class F = as_it_is>
QUARRY_INLINED void fold(T* totals, T neutral, const T* values, i64 n, const F& what = {}) {
  T chain[chains<T>];
  const i64 taken = take_rounds<Operation, Width>(chain, neutral, values, n, what);
  for (i64 i = taken; i < n; ++i) Operation::take(chain[i - taken], what.of(values[i], i));
  for (i64 width = chains<T> / 2; width >= Parts; width /= 2) {
    for (i64 j = 0; j < width; ++j) Operation::take(chain[j], chain[j + width]);
  }
  for (int k = 0; k < Parts; ++k) totals[k] = chain[k];
}

/// The largest or the smallest of values, and whether there is a NaN, which none of them is then.
template <class T>
struct extreme {
  T value;
  bool has_nan;
};

template <bool IsMax, class V>
QUARRY_INLINED void take_extreme(V& a, const V& b) {
  if constexpr (IsMax)
    a = b > a ? b : a;
  else
    a = b < a ? b : a;
}

/// Of at least one value.
template <bool IsMax, u64 Width, class T>
QUARRY_INLINED extreme<T> extreme_of(const T* values, i64 n) {
  using V = vector<T, Width>;
  constexpr int count = 4;
  constexpr i64 lanes = Width / sizeof(T), step = count * lanes;
  V best[count];
  decltype(best[0] != best[0]) nan[count] = {};
  for (V& v : best) v = V{} + values[0];
  i64 i = 0;
  for (; i + step <= n; i += step) {
    for (int k = 0; k < count; ++k) {
      V v;
      read(v, values + i + k * lanes);
      take_extreme<IsMax>(best[k], v);
      if constexpr (is_floating<T>) nan[k] |= v != v;
    }
  }
  for (int k = 1; k < count; ++k) {
    take_extreme<IsMax>(best[0], best[k]);
    nan[0] |= nan[k];
  }
  T lane[Width / sizeof(T)];
  u64 words[Width / 8], any_nan = 0;
  __builtin_memcpy(lane, best, sizeof(lane));
  __builtin_memcpy(words, nan, sizeof(words));
  for (i64 width = lanes / 2; width > 0; width /= 2) {
    for (i64 j = 0; j < width; ++j) take_extreme<IsMax>(lane[j], lane[j + width]);
  }
  for (const u64 word : words) any_nan |= word;
  extreme<T> all{lane[0], any_nan != 0 || values[0] != values[0]};
  for (; i < n; ++i) {
    take_extreme<IsMax>(all.value, values[i]);
    all.has_nan |= values[i] != values[i];
  }
  return all;
}

/// The first position of a value that `is` holds for, or n.
template <class T, class Is>
QUARRY_INLINED i64 position_of(const T* values, i64 n, const Is& is) {
  constexpr i64 block = 64;
  i64 i = 0;
  for (; i + block <= n; i += block) {
    int found = 0;
    for (i64 j = 0; j < block; ++j) found |= is(values[i + j]);
    if (found != 0) break;
  }
  while (i < n && !is(values[i])) ++i;
  return i;
}

/// Whether a byte is not 0, or whether one is.
template <bool IsZero, u64 Width>
QUARRY_INLINED bool has_byte(const u8* values, i64 n) {
  using V = vector<u8, Width>;
  constexpr u64 count = 4;
  constexpr i64 step = count * Width;
  V found[count] = {};
  i64 i = 0;
  for (; i + step <= n; i += step) {
    for (u64 k = 0; k < count; ++k) {
      V v;
      read(v, values + i + k * Width);
      if constexpr (IsZero)
        found[k] |= reinterpret_cast<V>(v == V{});
      else
        found[k] |= v;
    }
  }
  u64 words[count * Width / 8], any = 0;
  __builtin_memcpy(words, found, sizeof(found));
  for (const u64 word : words) any |= word;
  for (; i < n; ++i) any |= (values[i] == 0) == IsZero ? 1 : 0;
  return any != 0;
}

}  // namespace quarry::kernels::lanes
