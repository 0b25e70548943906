// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Quotients and remainders of integers, defined everywhere: x / 0 and x % 0 are 0, lowest / -1 is
// lowest.

#include <quarry/kernels/types.hpp>

namespace quarry::kernels::math {

template <class T>
QUARRY_HD T wrapped_negative(T x) {
  return static_cast<T>(wrapping<T>{} - static_cast<wrapping<T>>(x));
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

// The CPU divides integers in vectors, which have no such instruction: by the inverse of the
// divisor, which a loop computes once where it is the same for all. Branches would keep a loop from
// being one of vectors, so masks are in their stead: `filled` is all ones for true.
template <class W>
QUARRY_HD W filled(bool is) {
  return static_cast<W>(W{} - static_cast<W>(is));
}

// 8 bits: the magnitude, at most 255, times 2^16 / |y| rounded up, has the whole quotient in its
// upper half. A negative number n is divided as -1 - n, which rounds downwards.
template <class T>
QUARRY_HD T quotient_of_8_bits(T x, T y) {
  const i16 sign = filled<i16>(y < T{});
  const auto divisor = static_cast<u16>((y ^ sign) - sign);
  const u16 is_one = filled<u16>(divisor == 1), is_more = filled<u16>(divisor > 1);
  const float inverse = 65536.f / static_cast<float>(divisor > 1 ? divisor : 2) + 1;
  const auto factor = static_cast<u16>(static_cast<u16>(inverse) & is_more);
  const auto dividend = static_cast<i16>((x ^ sign) - sign);
  const auto negative = static_cast<i16>((dividend >> 15) & (is_one | is_more));
  const auto size = static_cast<u16>(dividend ^ negative);
  const auto above = static_cast<u16>((u32{size} * factor) >> 16);
  return static_cast<T>((above | (size & is_one)) ^ negative);
}

// The floating type whose products are exact enough for 16 and for 32 bits, and what rounds to a
// whole number when it is added: that number is in the last bits of the sum.
template <u64 Size>
struct quotient_of {
  using Real = float;
  static constexpr float whole = 0x1.8p23f;
};
template <>
struct quotient_of<4> {
  using Real = double;
  static constexpr double whole = 0x1.8p52;
};

// (x + 1 / 2) / y is no whole number, and farther from one than it is rounded; it is rounded
// downwards as the nearest to 1 / 2 less. For 0 and -1 it is x / 1.
template <class T>
QUARRY_HD T quotient_by_floats(T x, T y) {
  using Real = typename quotient_of<sizeof(T)>::Real;
  using Word = make_unsigned<T>;
  const Word is_zero = filled<Word>(y == 0),
             is_minus_one = filled<Word>(is_signed<T> && y == static_cast<T>(-1));
  const auto special = static_cast<Word>(is_zero | is_minus_one);
  const T usual = static_cast<T>((static_cast<Word>(y) & ~special) | (special & 1u));
  const Real inverse = 1 / static_cast<Real>(usual), half = usual < T{} ? Real(-0.5) : Real(0.5);
  const Real below = static_cast<Real>(x) * inverse + (half * inverse - Real(0.5));
  const auto bits = bits_as<make_unsigned<Real>>(below + quotient_of<sizeof(T)>::whole);
  const auto quotient = static_cast<Word>((static_cast<Word>(bits) ^ is_minus_one) - is_minus_one);
  return static_cast<T>(quotient & ~is_zero);
}

// A double has the first 53 bits of the quotient; what they leave is divided again, to the nearest
// whole number, which may be one too large.
QUARRY_HD i64 quotient_of_64_bits(i64 x, i64 y) {
  constexpr double most = 0x1.fffffffffffffp62, whole = 0x1.8p52;  // the last one below 2^63
  const u64 is_usual = filled<u64>(y != 0), is_negative = filled<u64>(y < 0);
  const i64 usual = y + (y == 0 ? 1 : 0);
  const auto divisor = static_cast<u64>(usual);
  const double inverse = 1 / static_cast<double>(usual), rough = static_cast<double>(x) * inverse;
  const auto first = static_cast<u64>(static_cast<i64>(rough < most ? rough : most));
  const u64 left = static_cast<u64>(x) - first * divisor;
  const double nearest = static_cast<double>(static_cast<i64>(left)) * inverse + whole;
  const u64 second = bits_as<u64>(nearest) - bits_as<u64>(whole);
  const u64 rest = left - second * divisor;  // of the other sign than y where one too much
  const i64 one_less = static_cast<i64>((rest + is_negative) ^ is_negative) >> 63;
  return static_cast<i64>((first + second + static_cast<u64>(one_less)) & is_usual);
}

#ifdef __CUDACC__
template <class T>
inline constexpr bool divides_by_inverse = false;
#else
template <class T>
inline constexpr bool divides_by_inverse = sizeof(T) < 8 || is_same<T, i64>;
#endif

template <class T>
QUARRY_HD T quotient_by_inverse(T x, T y) {
  if constexpr (sizeof(T) == 1)
    return quotient_of_8_bits(x, y);
  else if constexpr (sizeof(T) == 8)
    return quotient_of_64_bits(x, y);
  else
    return quotient_by_floats(x, y);
}

// Rounds towards minus infinity.
template <class T>
QUARRY_HD T floor_quotient(T x, T y) {
  if constexpr (divides_by_inverse<T>) {
    return quotient_by_inverse(x, y);
  } else {
    const bool inexact_and_negative = truncated_remainder(x, y) != 0 && (x < T{}) != (y < T{});
    return static_cast<T>(truncated_quotient(x, y) - (inexact_and_negative ? 1 : 0));
  }
}

// Takes the sign of the divisor.
template <class T>
QUARRY_HD T floor_remainder(T x, T y) {
  if constexpr (divides_by_inverse<T>) {
    using Word = wrapping<T>;
    const Word part = static_cast<Word>(quotient_by_inverse(x, y)) * static_cast<Word>(y);
    return static_cast<T>((static_cast<Word>(x) - part) & filled<Word>(y != 0));
  } else {
    const T rest = truncated_remainder(x, y);
    return rest != 0 && (rest < T{}) != (y < T{}) ? static_cast<T>(rest + y) : rest;
  }
}

}  // namespace quarry::kernels::math
