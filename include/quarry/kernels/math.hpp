// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// What an operation computes on one element of a real type, by NumPy's rules. The 16-bit floating
// types are computed in float and rounded once.

#include <quarry/kernels/division.hpp>
#ifdef __CUDACC__
#include <quarry/kernels/gpu_functions.hpp>
#else
#include <quarry/kernels/vector_functions.hpp>
#endif

// A GPU thread computes several elements. The long functions are not inlined there: a copy for each
// element would take several times as long to compile.
#ifdef __CUDACC__
#define QUARRY_LIBM(function) ::function
#ifndef QUARRY_LONG  // tools/operation_ptx.cpp has both, since it translates each function once
#define QUARRY_RARE QUARRY_HD
#ifdef __CUDACC_RTC__
#define QUARRY_LONG __device__ __noinline__
#else
#define QUARRY_LONG __host__ __device__ __noinline__
#endif
#endif
#define QUARRY_OWN(function) ::function
#else
#define QUARRY_LIBM(function) __builtin_##function
#define QUARRY_OWN(function) ::quarry_##function
#define QUARRY_LONG inline
#endif

namespace quarry::kernels::math {

#define QUARRY_MATH_UNARY(function, from)                              \
  template <class T>                                                   \
  QUARRY_HD T function(T x) {                                          \
    if constexpr (is_same<T, double>)                                  \
      return from(function)(x);                                        \
    else                                                               \
      return static_cast<T>(from(function##f)(static_cast<float>(x))); \
  }
#define QUARRY_MATH_LONG(function, from)                           \
  template <class T>                                               \
  QUARRY_LONG T function##_of(T x) {                               \
    if constexpr (is_same<T, double>)                              \
      return from(function)(x);                                    \
    else                                                           \
      return from(function##f)(x);                                 \
  }                                                                \
  template <class T>                                               \
  QUARRY_HD T function(T x) {                                      \
    if constexpr (is_same<T, double>)                              \
      return function##_of(x);                                     \
    else                                                           \
      return static_cast<T>(function##_of(static_cast<float>(x))); \
  }
#ifdef __clang__  // calls no variants for vectors
QUARRY_MATH_UNARY(sqrt, QUARRY_LIBM)
#else
QUARRY_MATH_UNARY(sqrt, QUARRY_OWN)
#endif
QUARRY_MATH_LONG(cbrt, QUARRY_LIBM)
QUARRY_MATH_UNARY(exp, QUARRY_OWN)
QUARRY_MATH_UNARY(exp2, QUARRY_LIBM)
QUARRY_MATH_LONG(expm1, QUARRY_LIBM)
QUARRY_MATH_UNARY(log, QUARRY_OWN)
QUARRY_MATH_UNARY(log2, QUARRY_LIBM)
QUARRY_MATH_LONG(log10, QUARRY_LIBM)
QUARRY_MATH_LONG(log1p, QUARRY_LIBM)
QUARRY_MATH_LONG(sin, QUARRY_OWN)
QUARRY_MATH_LONG(cos, QUARRY_OWN)
QUARRY_MATH_LONG(tan, QUARRY_LIBM)
QUARRY_MATH_LONG(asin, QUARRY_LIBM)
QUARRY_MATH_LONG(acos, QUARRY_LIBM)
QUARRY_MATH_LONG(atan, QUARRY_LIBM)
QUARRY_MATH_LONG(sinh, QUARRY_LIBM)
QUARRY_MATH_LONG(cosh, QUARRY_LIBM)
QUARRY_MATH_LONG(tanh, QUARRY_OWN)
QUARRY_MATH_LONG(asinh, QUARRY_LIBM)
QUARRY_MATH_LONG(acosh, QUARRY_LIBM)
QUARRY_MATH_LONG(atanh, QUARRY_LIBM)
QUARRY_MATH_UNARY(rint, QUARRY_LIBM)
#undef QUARRY_MATH_UNARY
#undef QUARRY_MATH_LONG

template <class T>
QUARRY_HD T copysign(T x, T y) {
  if constexpr (is_same<T, double>)
    return QUARRY_LIBM(copysign)(x, y);
  else
    return static_cast<T>(QUARRY_LIBM(copysignf)(static_cast<float>(x), static_cast<float>(y)));
}
// By the nearest whole number, which the CPU finds in vectors without further options.
template <class T>
QUARRY_HD T nearest_below(T x) {
  const T nearest = rint(x);
  return nearest - static_cast<T>(nearest > x ? 1 : 0);
}
template <class T>
QUARRY_HD T nearest_above(T x) {
  const T nearest = rint(x);
  return copysign(nearest + static_cast<T>(nearest < x ? 1 : 0), x);
}
template <class T>
QUARRY_HD T nearest_inside(T x) {
  return copysign(nearest_below(copysign(x, T(1))), x);
}
#ifdef __CUDACC__
#define QUARRY_ROUNDED(function, own, x) ::function(x)
#else
#define QUARRY_ROUNDED(function, own, x) own(x)
#endif
#define QUARRY_MATH_ROUNDING(function, own)                                           \
  template <class T>                                                                  \
  QUARRY_HD T function(T x) {                                                         \
    if constexpr (!is_floating<T>)                                                    \
      return x;                                                                       \
    else if constexpr (is_same<T, double>)                                            \
      return QUARRY_ROUNDED(function, own, x);                                        \
    else                                                                              \
      return static_cast<T>(QUARRY_ROUNDED(function##f, own, static_cast<float>(x))); \
  }
QUARRY_MATH_ROUNDING(floor, nearest_below)
QUARRY_MATH_ROUNDING(ceil, nearest_above)
QUARRY_MATH_ROUNDING(trunc, nearest_inside)
#undef QUARRY_ROUNDED
#undef QUARRY_MATH_ROUNDING

#define QUARRY_MATH_BINARY(function, libm)                                                \
  template <class T>                                                                      \
  QUARRY_LONG T function##_of(T x, T y) {                                                 \
    if constexpr (is_same<T, double>)                                                     \
      return QUARRY_LIBM(libm)(x, y);                                                     \
    else                                                                                  \
      return QUARRY_LIBM(libm##f)(x, y);                                                  \
  }                                                                                       \
  template <class T>                                                                      \
  QUARRY_HD T function(T x, T y) {                                                        \
    if constexpr (is_same<T, double>)                                                     \
      return function##_of(x, y);                                                         \
    else                                                                                  \
      return static_cast<T>(function##_of(static_cast<float>(x), static_cast<float>(y))); \
  }
QUARRY_MATH_BINARY(atan2, atan2)
QUARRY_MATH_BINARY(hypot, hypot)
QUARRY_MATH_BINARY(float_fmod, fmod)
QUARRY_MATH_BINARY(float_power, pow)
#undef QUARRY_MATH_BINARY

#ifdef __CUDACC__
// Of float these are short enough to be inlined.
#define QUARRY_MATH_SHORT(function, parameters, arguments)                         \
  QUARRY_RARE float rare_##function parameters { return function##_of arguments; } \
  QUARRY_HD float function parameters {                                            \
    float result = gpu::function##_of::usual arguments;                            \
    if (!gpu::function##_of::has arguments) result = rare_##function arguments;    \
    return result;                                                                 \
  }
QUARRY_MATH_SHORT(sin, (float x), (x))
QUARRY_MATH_SHORT(cos, (float x), (x))
QUARRY_MATH_SHORT(atan2, (float y, float x), (y, x))
QUARRY_MATH_SHORT(hypot, (float x, float y), (x, y))
#undef QUARRY_MATH_SHORT
QUARRY_HD float atan(float x) { return ::atanf(x); }
#endif

template <class T>
QUARRY_HD bool isnan(T x) {
  if constexpr (is_floating<T> || is_complex<T>)
    return x != x;
  else
    return false;
}
template <class T>
QUARRY_HD bool isinf(T x) {
  if constexpr (is_floating<T>)
    return x == limits<T>::highest() || x == limits<T>::lowest();
  else
    return false;
}
template <class T>
QUARRY_HD bool isfinite(T x) {
  return !isnan(x) && !isinf(x);
}
template <class T>
QUARRY_HD bool signbit(T x) {
  return is_signed<T> && (bits_as<make_unsigned<T>>(x) >> (sizeof(T) * 8 - 1)) != 0;
}

template <class T>
QUARRY_HD T add(T x, T y) {
  if constexpr (is_bool<T>)
    return x || y;
  else if constexpr (is_integer<T>)
    return static_cast<T>(static_cast<wrapping<T>>(x) + static_cast<wrapping<T>>(y));
  else
    return static_cast<T>(x + y);
}
template <class T>
QUARRY_HD T subtract(T x, T y) {
  if constexpr (is_integer<T>)
    return static_cast<T>(static_cast<wrapping<T>>(x) - static_cast<wrapping<T>>(y));
  else
    return static_cast<T>(x - y);
}
template <class T>
QUARRY_HD T multiply(T x, T y) {
  if constexpr (is_bool<T>)
    return x && y;
  else if constexpr (is_integer<T>)
    return static_cast<T>(static_cast<wrapping<T>>(x) * static_cast<wrapping<T>>(y));
  else
    return static_cast<T>(x * y);
}
template <class T>
QUARRY_HD T negative(T x) {
  if constexpr (is_integer<T>)
    return wrapped_negative(x);
  else
    return static_cast<T>(-x);
}
template <class T>
QUARRY_HD T abs(T x) {
  if constexpr (is_same<T, double>)
    return QUARRY_LIBM(fabs)(x);
  else if constexpr (is_floating<T>)
    return static_cast<T>(QUARRY_LIBM(fabsf)(static_cast<float>(x)));
  else if constexpr (is_signed<T>)
    return x < 0 ? negative(x) : x;
  else
    return x;
}
template <class T>
QUARRY_HD T sign(T x) {
  if constexpr (is_floating<T>) {
    const float unit = x > 0 ? 1.f : (x < 0 ? -1.f : 0.f);
    return isnan(x) ? x : static_cast<T>(unit);
  } else
    return static_cast<T>((x > 0) - (x < T{}));
}

template <class T>
struct quotient_remainder {
  T quotient, remainder;
};

// Python's divmod of floating numbers as NumPy's npy_divmod computes it; y is not zero.
template <class T>
QUARRY_HD quotient_remainder<T> float_divmod(T x, T y) {
  T remainder = float_fmod(x, y);
  T quotient = (x - remainder) / y;
  if (remainder == 0)
    remainder = copysign(T{}, y);
  else if ((y < 0) != (remainder < 0)) {
    remainder += y;
    quotient -= 1;
  }
  if (quotient == 0) return {copysign(T{}, x / y), remainder};
  const T whole = floor(quotient);
  return {quotient - whole > T(0.5) ? whole + 1 : whole, remainder};
}

template <class T>
QUARRY_HD T divide(T x, T y) {
  return static_cast<T>(x / y);
}

// Rounds towards minus infinity; an integer divided by zero is 0.
template <class T>
QUARRY_HD T floor_divide(T x, T y) {
  if constexpr (is_half<T>) {
    return static_cast<T>(floor_divide(static_cast<float>(x), static_cast<float>(y)));
  } else if constexpr (is_floating<T>)
    return y == 0 ? x / y : float_divmod(x, y).quotient;
  else
    return floor_quotient(x, y);
}

// Takes the sign of the divisor; an integer modulo zero is 0.
template <class T>
QUARRY_HD T remainder(T x, T y) {
  if constexpr (is_half<T>) {
    return static_cast<T>(remainder(static_cast<float>(x), static_cast<float>(y)));
  } else if constexpr (is_floating<T>)
    return y == 0 ? float_fmod(x, y) : float_divmod(x, y).remainder;
  else
    return floor_remainder(x, y);
}

// Takes the sign of the dividend, as C's fmod.
template <class T>
QUARRY_HD T fmod(T x, T y) {
  if constexpr (is_floating<T>)
    return float_fmod(x, y);
  else
    return truncated_remainder(x, y);
}

// Integers: wraps; a negative exponent gives 0 unless the base is 1 or -1.
template <class T>
QUARRY_HD T power(T x, T y) {
  if constexpr (is_floating<T>)
    return float_power(x, y);
  else {
    if constexpr (is_signed<T>) {
      if (y < 0) return x == 1 ? x : (x == -1 ? ((y & 1) != 0 ? x : T{1}) : T{});
    }
    auto base = static_cast<wrapping<T>>(x);
    auto result = wrapping<T>{1};
    for (auto rest = static_cast<make_unsigned<T>>(y); rest != 0;
         rest = static_cast<make_unsigned<T>>(rest >> 1)) {
      if ((rest & 1u) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
}

template <class T>
QUARRY_HD T square(T x) {
  return multiply(x, x);
}
template <class T>
QUARRY_HD T reciprocal(T x) {
  if constexpr (is_integer<T>)
    return truncated_quotient(T{1}, x);
  else
    return static_cast<T>(1 / x);
}

// NaN wins in minimum and maximum and loses in fmin and fmax. Of two equal numbers (-0.0 and 0.0)
// the second is taken.
template <class T>
QUARRY_HD T minimum(T x, T y) {
  return isnan(x) || x < y ? x : y;
}
template <class T>
QUARRY_HD T maximum(T x, T y) {
  return isnan(x) || x > y ? x : y;
}
template <class T>
QUARRY_HD T fmin(T x, T y) {
  return isnan(y) || x < y ? x : y;
}
template <class T>
QUARRY_HD T fmax(T x, T y) {
  return isnan(y) || x > y ? x : y;
}

// A count that is negative or not below the width shifts everything out: 0, or -1 for a negative
// number shifted right.
template <class T>
QUARRY_HD T left_shift(T x, T y) {
  const bool inside = static_cast<make_unsigned<T>>(y) < sizeof(T) * 8;
  return static_cast<T>(inside ? static_cast<wrapping<T>>(x) << y : wrapping<T>{});
}
template <class T>
QUARRY_HD T right_shift(T x, T y) {
  const bool inside = static_cast<make_unsigned<T>>(y) < sizeof(T) * 8;
  const T outside = x < T{} ? static_cast<T>(~T{}) : T{};
  return inside ? static_cast<T>(x >> y) : outside;
}
template <class T>
QUARRY_HD T invert(T x) {
  if constexpr (is_bool<T>)
    return !x;
  else
    return static_cast<T>(~x);
}

template <class T>
QUARRY_HD T real(T x) {
  return x;
}
template <class T>
QUARRY_HD T imag(T) {
  return convert<T>(false);
}
template <class T>
QUARRY_HD T conj(T x) {
  return x;
}

// -1, 0 or 1: compares two integers, one of a signed and one of an unsigned type, exactly.
template <class A, class B>
QUARRY_HD int order(A a, B b) {
  if constexpr (is_signed<A>) {
    if (a < 0) return -1;
  } else if (b < 0)
    return 1;
  const auto x = static_cast<u64>(a), y = static_cast<u64>(b);
  return (x > y) - (x < y);
}

}  // namespace quarry::kernels::math
