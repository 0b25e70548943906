// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Quotients and remainders of integers, defined everywhere: x / 0 and x % 0 are 0, lowest / -1 is
// lowest.

#include <quarry/kernels/types.hpp>

namespace quarry::kernels::math {

template <class T>
QUARRY_HD T wrapped_negative(T x) {
  return static_cast<T>(make_unsigned<T>{} - static_cast<make_unsigned<T>>(x));
}

template <class T>
QUARRY_HD T truncated_quotient(T x, T y) {
  if (y == 0) return 0;
  if constexpr (is_signed<T>) {
    if (y == -1) return wrapped_negative(x);
  }
  return static_cast<T>(x / y);
}
template <class T>
QUARRY_HD T truncated_remainder(T x, T y) {
  if (y == 0) return 0;
  if constexpr (is_signed<T>) {
    if (y == -1) return 0;
  }
  return static_cast<T>(x % y);
}

#ifdef __CUDACC__
template <class T>
inline constexpr bool divides_in_floats = false;
#else
template <class T>
inline constexpr bool divides_in_floats = sizeof(T) <= 4;
#endif

// The floating type that holds the integers and their quotients exactly enough, and the integer
// type for whole quotients.
template <u64 Size, bool IsSigned>
struct quotient_types {
  using Real = float;
  using Whole = i32;
};
template <>
struct quotient_types<4, true> {
  using Real = double;
  using Whole = i32;
};
template <>
struct quotient_types<4, false> {
  using Real = double;
  using Whole = i64;
};

// In vectors, by the inverse of the divisor, which a loop computes once where it is the same for
// all. With the half the quotient is no whole number, and farther from one than it is rounded. For
// 0 and -1 it is x / 1, which masks turn into 0 and -x: a branch would keep the loop from being one
// of vectors.
template <class T>
QUARRY_HD T float_quotient(T x, T y) {
  using Types = quotient_types<sizeof(T), is_signed<T>>;
  using Real = typename Types::Real;
  using Whole = typename Types::Whole;
  using Word = make_unsigned<T>;
  const Word is_zero = static_cast<Word>(-(y == 0)),
             is_minus_one = static_cast<Word>(-(is_signed<T> && y == static_cast<T>(-1)));
  const Word special = static_cast<Word>(is_zero | is_minus_one);
  const T usual = static_cast<T>((static_cast<Word>(y) & ~special) | (special & 1u));
  const Real divisor = static_cast<Real>(usual), half = usual < 0 ? Real(-0.5) : Real(0.5);
  const Real quotient = (static_cast<Real>(x) + half) * (1 / divisor);
  const Whole inside = static_cast<Whole>(quotient);
  const Whole below = inside - (quotient < static_cast<Real>(inside) ? 1 : 0);
  const Word magnitude =
      static_cast<Word>((static_cast<Word>(below) ^ is_minus_one) - is_minus_one);
  return static_cast<T>(magnitude & ~is_zero);
}

// Rounds towards minus infinity.
template <class T>
QUARRY_HD T floor_quotient(T x, T y) {
  if constexpr (divides_in_floats<T>) {
    return float_quotient(x, y);
  } else {
    const bool inexact_and_negative = truncated_remainder(x, y) != 0 && (x < T{}) != (y < T{});
    return static_cast<T>(truncated_quotient(x, y) - (inexact_and_negative ? 1 : 0));
  }
}

// Takes the sign of the divisor.
template <class T>
QUARRY_HD T floor_remainder(T x, T y) {
  if constexpr (divides_in_floats<T>) {
    const u32 part = static_cast<u32>(float_quotient(x, y)) * static_cast<u32>(y);
    return static_cast<T>((static_cast<u32>(x) - part) & static_cast<u32>(-(y != 0)));
  } else {
    const T rest = truncated_remainder(x, y);
    return rest != 0 && (rest < T{}) != (y < T{}) ? static_cast<T>(rest + y) : rest;
  }
}

}  // namespace quarry::kernels::math
