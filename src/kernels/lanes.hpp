// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>

#include <utility>

#include "kernels/vectors.hpp"

/// Folds of values that lie side by side, with vectors of `Width` bytes.
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

/// Of two vectors with `Rows` rows each the rows' first (Half = 0) or second halves, side by side
/// in blocks: within 16 bytes, where they are shorter, since that takes one instruction.
template <int Half, int Rows, u64 Width, class V, int... I>
QUARRY_INLINED void take_halves(V& to, const V& a, const V& b, std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I), row = lanes / Rows, half = row / 2;
  constexpr int parts = static_cast<int>(Width / 16), block = Rows < parts ? lanes : lanes / parts;
  constexpr auto source = [](int i) {
    const int j = i % block, k = j % (block / 2);
    return i - j + (j == k ? 0 : lanes) + k / half * row + k % half + Half * half;
  };
  to = __builtin_shufflevector(a, b, source(I)...);
}
/// The order of rows from that in which take_halves leaves them.
template <u64 Width, class V, int... I>
QUARRY_INLINED void put_in_order(V& v, std::integer_sequence<int, I...>) {
  constexpr int lanes = sizeof...(I), parts = static_cast<int>(Width / 16), block = lanes / parts;
  if constexpr (parts > 1) v = __builtin_shufflevector(v, v, (I % parts * block + I / parts)...);
}

/// Folds the lanes of `Rows` vectors, one for each row: lane r of v[0] is the total of row r, of
/// the same pairs as those of fold_lanes.
template <class Operation, u64 Width, class T, int Rows = 1>
QUARRY_INLINED void fold_lanes_of_rows(vector<T, Width>* v) {
  constexpr int lanes = static_cast<int>(Width / sizeof(T));
  constexpr auto all = std::make_integer_sequence<int, lanes>();
  if constexpr (Rows < lanes) {
    for (int k = 0; k < lanes / Rows; k += 2) {
      vector<T, Width> low, high;
      take_halves<0, Rows, Width>(low, v[k], v[k + 1], all);
      take_halves<1, Rows, Width>(high, v[k], v[k + 1], all);
      Operation::take(low, high);
      v[k / 2] = low;
    }
    fold_lanes_of_rows<Operation, Width, T, 2 * Rows>(v);
  } else {
    put_in_order<Width>(v[0], all);
  }
}

/// The largest or the smallest of values, and whether there is a NaN: then the others mean nothing.
/// Where that was asked for, `begin` is where the vectors begin that were taken together and have
/// the first one.
template <class T>
struct extreme {
  T value;
  bool has_nan;
  i64 begin;
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

/// How many values are left from a position on, in vectors with as many lanes as those of the
/// values: the largest is that of the first one, and 0 that of none. AVX2 compares no unsigned
/// integers of 64 bits.
template <class T>
using left_from = std::conditional_t<sizeof(T) == 8, i64, typename unsigned_of<sizeof(T)>::type>;
/// Lane j is j.
template <class T, class V, int... I>
QUARRY_INLINED void number(V& lanes, std::integer_sequence<int, I...>) {
  lanes = V{static_cast<T>(I)...};
}

/// The extreme of every lane, and where that is wanted how many values are left from the first
/// vectors on that were taken together and have it.
template <bool IsMax, bool IsLocated, u64 Width, class T>
struct lane_extremes {
  using V = vector<T, Width>;
  using P = vector<left_from<T>, Width>;
  static constexpr int together = 4;
  static constexpr i64 lanes = Width / sizeof(T), step = together * lanes;
  V best = {};
  P left = {}, now = {};  // from the first of the best ones on, and from the next vector on
  decltype(V{} != V{}) nan[4] = {};  // one for each vector: GCC splits chains of comparisons

  /// Of n >= lanes values; the last vector may begin among those that the one before has had.
  QUARRY_INLINED void take_all(const T* values, i64 n) {
    read(best, values);
    left = now = P{} + static_cast<left_from<T>>(n);
    i64 i = 0;
    for (; i + step <= n; i += step) take<together>(values + i);
    for (; i + lanes <= n; i += lanes) take<1>(values + i);
    if (i == n) return;
    now = P{} + static_cast<left_from<T>>(lanes);
    take<1>(values + n - lanes);
  }
  template <int Count>
  QUARRY_INLINED void take(const T* values) {
    V most;
    if constexpr (Count == together && Width < 64) {  // comparisons leave no time to look ahead
      for (u64 line = 0; line < Count * Width; line += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(values) + 1024 + line);
      }
    }
    read(most, values);
    if constexpr (is_floating<T>) nan[0] |= most != most;
    for (int k = 1; k < Count; ++k) {
      V v;
      read(v, values + k * lanes);
      if constexpr (is_floating<T>) nan[k] |= v != v;
      extreme_of_two<IsMax>::take(most, v);
    }
    if constexpr (IsLocated) {
      const auto is_better = IsMax ? most > best : most < best;
      left = is_better ? now : left;
      now -= static_cast<left_from<T>>(Count * lanes);
    }
    extreme_of_two<IsMax>::take(best, most);
  }
};

/// Of at least one value, whose number left_from can hold where they are wanted.
template <bool IsMax, class T>
QUARRY_INLINED extreme<T> extreme_of_few(const T* values, i64 n) {
  extreme<T> all{values[0], values[0] != values[0], 0};
  for (i64 i = 1; i < n; ++i) {
    const bool is_better = IsMax ? values[i] > all.value : values[i] < all.value;
    all = {is_better ? values[i] : all.value, all.has_nan || values[i] != values[i],
           is_better ? i : all.begin};
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

template <bool IsMax, bool IsLocated, u64 Width, class T>
QUARRY_INLINED extreme<T> extreme_of(const T* values, i64 n) {
  using Lanes = lane_extremes<IsMax, IsLocated, Width, T>;
  if constexpr (Width > 16) {
    if (n < Lanes::lanes) return extreme_of<IsMax, IsLocated, 16>(values, n);
  } else if (n < Lanes::lanes) {
    return extreme_of_few<IsMax>(values, n);
  }
  Lanes all;
  all.take_all(values, n);
  extreme<T> found{};
  fold_lanes<extreme_of_two<IsMax>, Width, 1>(&found.value, all.best);
  if constexpr (is_floating<T>) {
    found.has_nan = any_bits<Width>((all.nan[0] | all.nan[1]) | (all.nan[2] | all.nan[3]));
  }
  if constexpr (IsLocated) {
    using P = typename Lanes::P;
    const P there = reinterpret_cast<P>(all.best == found.value) & all.left;
    left_from<T> most;
    fold_lanes<extreme_of_two<true>, Width, 1>(&most, there);
    found.begin = n - static_cast<i64>(most);
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
