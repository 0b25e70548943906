// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/picks.hpp>

/// Expressions of maps whose output is a side operand: they compute where an element is written, as
/// well as its value. `F` says what becomes of the element that is there; several values may meet
/// at one place, in any order.
namespace quarry::kernels {

/// The value replaces the element.
struct replaced {};
/// The larger one of integers stays.
struct largest {
  template <class T>
  QUARRY_HD static T apply(T a, T b) {
    return a < b ? b : a;
  }
};

struct added {
  template <class T>
  QUARRY_HD static T apply(T a, T b) {
    return a + b;
  }
};

/// A row of ops.def whose result does not depend on the order of the values.
template <class F>
struct combined {
  template <class T>
  QUARRY_HD static T apply(T a, T b) {
    return convert<T>(F::template apply<T>(a, b));
  }
};

/// Bits are set, of which those that were set before set the first bit of the operand.
struct marked {
  QUARRY_HD static void apply(u32& word, u32 bits, u32& first) {
    if ((word & bits) != 0) first |= 1;
    word |= bits;
  }
};

template <class F, class V, class... Places>
struct into {
  using meeting = F;
  template <class C>
  QUARRY_HD static auto value(const C& c) {
    return V{}(c);
  }
  template <class C>
  QUARRY_HD static i64 offset(const C& c) {
    return (Places{}(c) + ...);
  }
  template <class C>
  QUARRY_HD static bool is_written(const C&) {
    return true;
  }
};

/// A place is a bit, behind the first word of the operand.
template <class V, class... Places>
struct into<marked, V, Places...> {
  using meeting = marked;
  template <class C>
  QUARRY_HD static u32 value(const C& c) {
    return static_cast<u32>(V{}(c)) << (place(c) & 31);
  }
  template <class C>
  QUARRY_HD static i64 offset(const C& c) {
    return ((place(c) >> 5) + 1) * static_cast<i64>(sizeof(u32));
  }
  template <class C>
  QUARRY_HD static bool is_written(const C&) {
    return true;
  }
  /// The number of the bit.
  template <class C>
  QUARRY_HD static i64 place(const C& c) {
    return (Places{}(c) + ...);
  }
};

/// The number of an element among those whose values meet, counted in C order: the axes behind
/// those of the positions have `behind` elements, the positions are `count`. A scalar of the call.
struct turns {
  i64 behind, count;
  QUARRY_HD i64 of(i64 index) const {
    if (behind == 1 && index < count) return index;
    const u64 i = static_cast<u64>(index), b = static_cast<u64>(behind),
              n = static_cast<u64>(count);
    if ((i | b | n) >> 32 == 0) {
      return static_cast<i64>(static_cast<u32>(i) / static_cast<u32>(b) % static_cast<u32>(n));
    }
    return static_cast<i64>(i / b % n);
  }
};

/// The same, where Owner is the element's own number (Turns).
template <class Owner, class Turns, class Into>
struct owned : Into {
  template <class C>
  QUARRY_HD static bool is_written(const C& c) {
    return Owner{}(c) == Turns{}(c).of(c.index());
  }
};

/// Whether an expression of the index is the larger the larger that is.
template <class V>
inline constexpr bool rises = false;
template <class T>
inline constexpr bool rises<iota<T>> = true;
template <class T, int S>
inline constexpr bool rises<op<add_op, T, iota<T>, val<T, S>>> = true;

/// Those of the places of which the map finds the owners, the last ones in C order.
template <class V, int A, class I, int N, class Out, int S, class... In>
requires(is_integer<I>&& is_signed<I>&& rises<V>) struct row_positions<
    map_of<into<largest, V, place<index_mode::from_end, A, in<I, N>>>, Out, S, In...>> {
  using type = I;
  static constexpr int operand = 1 + N, axis = A;
};

}  // namespace quarry::kernels
