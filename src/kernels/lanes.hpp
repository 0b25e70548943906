// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>

#include <utility>

#include "kernels/vectors.hpp"

/// Folds of values that lie side by side, with vectors of `Width` bytes. Whatever the width, a sum
/// or a product of floating numbers has the same chains, so all widths give the same bits.
namespace quarry::kernels::lanes {

template <class V, class T>
QUARRY_INLINED void read(V& v, const T* from) {
  __builtin_memcpy(&v, from, sizeof(V));
}

struct bits_or {
  template <class V>
  QUARRY_INLINED static void take(V& a, const V& b) {
    a = a | b;
  }
};
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

/// The first or the second half of a vector.
template <int Half, class T, u64 Width, int... I>
QUARRY_INLINED void take_half(vector<T, Width / 2>& to, const vector<T, Width>& v,
                              std::integer_sequence<int, I...>) {
  to = __builtin_shufflevector(v, v, (Half * static_cast<int>(sizeof...(I)) + I)...);
}

/// Folds each lane with the one that is `Distance` further, around the end, then with nearer ones.
template <class Operation, int Distance, int Parts, class V, int... I>
QUARRY_INLINED void fold_around(V& v, std::integer_sequence<int, I...> all) {
  if constexpr (Distance >= Parts) {
    const V other = __builtin_shufflevector(v, v, ((I + Distance) % int{sizeof...(I)})...);
    Operation::take(v, other);
    fold_around<Operation, Distance / 2, Parts>(v, all);
  }
}
/// Folds the lanes pairwise, those of the second half into those of the first, until `Parts` are
/// left.
template <class Operation, u64 Width, int Parts, class T>
QUARRY_INLINED void fold_lanes(T* totals, const vector<T, Width>& v) {
  constexpr auto lanes = static_cast<int>(Width / sizeof(T));
  if constexpr (Width > 16) {
    constexpr auto half = std::make_integer_sequence<int, lanes / 2>();
    vector<T, Width / 2> low, high;
    take_half<0, T, Width>(low, v, half);
    take_half<1, T, Width>(high, v, half);
    Operation::take(low, high);
    fold_lanes<Operation, Width / 2, Parts>(totals, low);
  } else {
    vector<T, Width> all = v;
    fold_around<Operation, lanes / 2, Parts>(all, std::make_integer_sequence<int, lanes>());
    __builtin_memcpy(totals, &all, Parts * sizeof(T));
  }
}

/// Whether a bit is set.
template <u64 Width, class V>
QUARRY_INLINED bool any_bits(const V& v) {
  u64 all;
  fold_lanes<bits_or, Width, 1>(&all, reinterpret_cast<vector<u64, Width>>(v));
  return all != 0;
}

/// The bytes of all chains of a sum or a product.
inline constexpr u64 chain_bytes = 256;
template <class T>
inline constexpr i64 chains = chain_bytes / sizeof(T);

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
    V d = V{} + from[0];
    if constexpr (Parts == 2) {
      for (u64 k = 1; k < sizeof(V) / sizeof(T); k += 2) d[k] = from[1];
    }
    v = (v - d) * (v - d);
  }
  QUARRY_INLINED T of(T value, i64 i) const {
    const T d = value - from[i % Parts];
    return d * d;
  }
};

/// The values in one vector of totals, whose lanes are still to be folded. Whole rounds are taken
/// eight at a time into chains of their own, so that errors grow slowly. A neutral value changes
/// nothing: no chain is ever -0.
template <class Operation, u64 Width, class T, class F = as_it_is>
QUARRY_INLINED void fold_into_lanes(vector<T, Width>& lane_totals, T neutral, const T* values,
                                    i64 n, const F& what = {}) {
  using V = vector<T, Width>;
  constexpr u64 count = chain_bytes / Width;
  constexpr i64 step = chains<T>, lanes = Width / sizeof(T);
  if (n % lanes == 0 && n <= 4 * lanes) {
    const auto begin = [&](V & total, i64 at) __attribute__((always_inline)) {
      total = V{} + neutral;
      if (at >= n) return;
      V v;
      read(v, values + at);
      what.change(v);
      Operation::take(total, v);
    };
    V b{}, c{}, d{};
    begin(lane_totals, 0);
    begin(b, lanes);
    begin(c, 2 * lanes);
    begin(d, 3 * lanes);
    Operation::take(lane_totals, c);
    Operation::take(b, d);
    return Operation::take(lane_totals, b);
  }
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
  for (u64 k = 0; k < count && i < n; ++k, i += lanes) {
    V v;
    if (n - i >= lanes) {
      read(v, values + i);
      what.change(v);
    } else {
      T lane[Width / sizeof(T)];
      for (i64 j = 0; j < lanes; ++j) lane[j] = j < n - i ? what.of(values[i + j], i + j) : neutral;
      read(v, lane);
    }
    Operation::take(total[k], v);
  }
  for (u64 width = count / 2; width > 0; width /= 2) {
    for (u64 k = 0; k < width; ++k) Operation::take(total[k], total[k + width]);
  }
  lane_totals = total[0];
}

/// The values in `Parts` totals, where value i is in total i % Parts (a complex number is two).
template <class Operation, u64 Width, int Parts, class T, class F = as_it_is>
QUARRY_INLINED void fold(T* totals, T neutral, const T* values, i64 n, const F& what = {}) {
  vector<T, Width> lane_totals;
  fold_into_lanes<Operation, Width>(lane_totals, neutral, values, n, what);
  fold_lanes<Operation, Width, Parts>(totals, lane_totals);
}

/// Of two vectors with `Rows` rows each the rows' first (Half = 0) or second halves, side by side.
template <int Half, int Rows, class V, int... I>
QUARRY_INLINED void take_halves(V& to, const V& a, const V& b, std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I), row = lanes / Rows, half = row / 2;
  to = __builtin_shufflevector(a, b, (I / half * row + I % half + Half * half)...);
}

/// Folds the lanes of `Rows` vectors, one for each row: lane r of v[0] is the total of row r, of
/// the same pairs as those of fold_lanes.
template <class Operation, u64 Width, class T, int Rows = 1>
QUARRY_INLINED void fold_lanes_of_rows(vector<T, Width>* v) {
  constexpr int lanes = static_cast<int>(Width / sizeof(T));
  if constexpr (Rows < lanes) {
    constexpr auto all = std::make_integer_sequence<int, lanes>();
    for (int k = 0; k < lanes / Rows; k += 2) {
      vector<T, Width> low, high;
      take_halves<0, Rows>(low, v[k], v[k + 1], all);
      take_halves<1, Rows>(high, v[k], v[k + 1], all);
      Operation::take(low, high);
      v[k / 2] = low;
    }
    fold_lanes_of_rows<Operation, Width, T, 2 * Rows>(v);
  }
}

/// The largest or the smallest of values, its first position where that was asked for, and whether
/// there is a NaN: then the others mean nothing.
template <class T>
struct extreme {
  T value;
  bool has_nan;
  i64 position;
};

template <bool IsMax>
struct extreme_of_two {
  template <class V>
  QUARRY_INLINED static void take(V& a, const V& b) {
    if constexpr (IsMax)
      a = b > a ? b : a;
    else
      a = b < a ? b : a;
  }
};

/// A position among values, in vectors with as many lanes as those of the values.
template <class T>
using lane_position = typename unsigned_of<sizeof(T)>::type;
/// Lane j is j.
template <class T, class V, int... I>
QUARRY_INLINED void number(V& lanes, std::integer_sequence<int, I...>) {
  lanes = V{static_cast<T>(I)...};
}

/// The extreme of every lane, and where those are wanted the first position of vectors that were
/// taken together and have it.
template <bool IsMax, bool IsLocated, u64 Width, class T>
struct lane_extremes {
  using V = vector<T, Width>;
  using P = vector<lane_position<T>, Width>;
  static constexpr i64 lanes = Width / sizeof(T);
  V best = {};
  P at = {};
  decltype(V{} != V{}) nan[4] = {};  // one for each vector: GCC splits chains of comparisons

  /// `Count` vectors, at most 4, from value i on.
  template <int Count = 1>
  QUARRY_INLINED void take(const T* values, i64 i) {
    V most;
    read(most, values + i);
    if constexpr (is_floating<T>) nan[0] |= most != most;
    for (int k = 1; k < Count; ++k) {
      V v;
      read(v, values + i + k * lanes);
      if constexpr (is_floating<T>) nan[k] |= v != v;
      extreme_of_two<IsMax>::take(most, v);
    }
    if constexpr (IsLocated) {
      const auto is_better = IsMax ? most > best : most < best;
      at = is_better ? P{} + static_cast<lane_position<T>>(i) : at;
    }
    extreme_of_two<IsMax>::take(best, most);
  }
};

/// Of at least one value, whose positions lane_position can hold where they are wanted.
template <bool IsMax, class T>
QUARRY_INLINED extreme<T> extreme_of_few(const T* values, i64 n) {
  extreme<T> all{values[0], values[0] != values[0], 0};
  for (i64 i = 1; i < n; ++i) {
    const bool is_better = IsMax ? values[i] > all.value : values[i] < all.value;
    all = {is_better ? values[i] : all.value, all.has_nan || values[i] != values[i],
           is_better ? i : all.position};
  }
  return all;
}
template <int Count, class T>
QUARRY_INLINED bool is_among(const T* values, T value) {
  using Found = typename unsigned_of<sizeof(T)>::type;
  Found found = 0;
  for (int j = 0; j < Count; ++j) found |= static_cast<Found>(values[j] == value ? 1 : 0);
  return found != 0;
}
/// The first position of a value among `Count` values, or `Count`.
template <int Count, class T>
QUARRY_INLINED i64 position_in_block(const T* values, T value) {
  using Position = typename unsigned_of<sizeof(T)>::type;
  Position first = Count;
  for (int j = 0; j < Count; ++j) {
    const Position at = static_cast<Position>(values[j] == value ? j : Count);
    first = at < first ? at : first;
  }
  return static_cast<i64>(first);
}

/// The first position of a value, or n.
template <class T>
QUARRY_INLINED i64 position_of(const T* values, i64 n, T value) {
  constexpr int whole = 256, large = 64, small = 16;
  i64 i = 0;
  while (i + whole <= n && !is_among<whole>(values + i, value)) i += whole;
  for (; i + large <= n; i += large) {
    if (is_among<large>(values + i, value)) {
      return i + position_in_block<large>(values + i, value);
    }
  }
  for (; i + small <= n; i += small) {
    const i64 at = position_in_block<small>(values + i, value);
    if (at < small) return i + at;
  }
  while (i < n && values[i] != value) ++i;
  return i;
}

/// The last vector may begin among the values that the one before has had.
template <bool IsMax, bool IsLocated, u64 Width, class T>
QUARRY_INLINED extreme<T> extreme_of(const T* values, i64 n) {
  using Lanes = lane_extremes<IsMax, IsLocated, Width, T>;
  constexpr int count = 4;
  constexpr i64 lanes = Lanes::lanes, step = count * lanes;
  if constexpr (Width > 16) {
    if (n < lanes) return extreme_of<IsMax, IsLocated, 16>(values, n);
  } else if (n < lanes) {
    return extreme_of_few<IsMax>(values, n);
  }
  Lanes all;
  read(all.best, values);
  i64 i = 0;
  for (; i + step <= n; i += step) all.template take<count>(values, i);
  for (; i + lanes <= n; i += lanes) all.take(values, i);
  if (i < n) all.take(values, n - lanes);
  extreme<T> found{};
  fold_lanes<extreme_of_two<IsMax>, Width, 1>(&found.value, all.best);
  if constexpr (is_floating<T>) {
    found.has_nan = any_bits<Width>((all.nan[0] | all.nan[1]) | (all.nan[2] | all.nan[3]));
  }
  if constexpr (IsLocated) {
    using P = typename Lanes::P;
    const P other = ~reinterpret_cast<P>(all.best == found.value), at = all.at | other;
    lane_position<T> first;
    fold_lanes<extreme_of_two<false>, Width, 1>(&first, at);
    const i64 begin = static_cast<i64>(first), left = n - begin;
    found.position = begin;
    if (!found.has_nan)
      found.position += position_of(values + begin, left < step ? left : step, found.value);
  }
  return found;
}

/// Not 0 if a byte is not 0, or if one is.
template <bool IsZero>
QUARRY_INLINED u64 has_byte(u64 word) {
  constexpr u64 low = 0x0101010101010101, high = 0x8080808080808080;
  return IsZero ? (word - low) & ~word & high : word;
}
template <bool IsZero, u64 Width>
QUARRY_INLINED bool has_byte(const u8* values, i64 n) {
  using V = vector<u8, Width>;
  constexpr u64 count = 4;
  constexpr i64 step = count * Width;
  u64 any = 0;
  i64 i = 0;
  if (n >= step) {
    V found[count] = {};
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
    u64 words[count * Width / 8];
    __builtin_memcpy(words, found, sizeof(found));
    for (const u64 word : words) any |= word;
  }
  for (; i + 8 <= n; i += 8) {
    u64 word;
    __builtin_memcpy(&word, values + i, 8);
    any |= has_byte<IsZero>(word);
  }
  for (; i < n; ++i) any |= (values[i] == 0) == IsZero ? 1 : 0;
  return any != 0;
}

}  // namespace quarry::kernels::lanes
