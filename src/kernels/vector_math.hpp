// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/vectors.hpp"

/// Functions of real numbers without branches, so that the compiler makes vector instructions of
/// loops over them, with the same bits for every length of vectors. The methods are those of fdlibm
/// and Cephes: reduction of the argument, and a polynomial whose error is a small part of an ulp.
/// `usual` is for arguments from `lowest` to `highest`, `rare` for the others: special values,
/// those whose results may be subnormal, and those that are left to the C library.
namespace quarry::kernels::vector_math {

template <class T>
struct format;
template <>
struct format<float> {
  using word = i32;
  static constexpr int bits = 23, bias = 127;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr float ln2 = 0.693147181f;
};
template <>
struct format<double> {
  using word = i64;
  static constexpr int bits = 52, bias = 1023;
  static constexpr double ln2_high = 6.93147180369123816490e-01,
                          ln2_low = 1.90821492927058770002e-10;
};
template <class T>
using word = typename format<T>::word;

/// These wrap: bits of NaNs and of negative numbers are counted with, too, and not used.
template <class W>
QUARRY_INLINED static W sum(W a, W b) {
  return static_cast<W>(static_cast<make_unsigned<W>>(a) + static_cast<make_unsigned<W>>(b));
}
template <class W>
QUARRY_INLINED static W difference(W a, W b) {
  return static_cast<W>(static_cast<make_unsigned<W>>(a) - static_cast<make_unsigned<W>>(b));
}

/// Added to a number of small magnitude it leaves a whole number in the last bits.
template <class T>
inline constexpr T whole_bits = T(1.5) * static_cast<T>(i64{1} << format<T>::bits);
template <class T>
inline constexpr T infinity = static_cast<T>(__builtin_inf());
template <class T>
inline constexpr T not_a_number = static_cast<T>(__builtin_nan(""));

/// a * b + c, rounded once: one instruction, or on processors without it a call with the same bits.
template <class T>
QUARRY_INLINED static T fused(T a, T b, T c) {
  if constexpr (sizeof(T) == 4)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
}

/// coefficients[K] + square * (coefficients[K + 2] + square * ...)
template <u64 K, class T, u64 N>
QUARRY_INLINED static T every_second(T square, const T (&coefficients)[N]) {
  if constexpr (K + 2 < N)
    return fused(every_second<K + 2>(square, coefficients), square, coefficients[K]);
  else
    return coefficients[K];
}
/// coefficients[0] + x * (coefficients[1] + x * ...), the even and the odd terms by themselves.
template <class T, u64 N>
QUARRY_INLINED static T series(T x, const T (&coefficients)[N]) {
  const T square = x * x;
  return fused(every_second<1>(square, coefficients), x, every_second<0>(square, coefficients));
}

template <class T>
QUARRY_INLINED static T magnitude(T x) {
  if constexpr (sizeof(T) == 4)
    return __builtin_fabsf(x);
  else
    return __builtin_fabs(x);
}

/// Of functions that are the same everywhere.
template <class T>
struct without_rare {
  static constexpr bool has_rare = false;
  static T rare(T x) { return x; }
};

template <class T>
struct sqrt_of : without_rare<T> {
  QUARRY_INLINED static T usual(T x) {
    if constexpr (sizeof(T) == 4)
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
  }
  /// Of roots from here on the remainder x - root^2 is exact.
  static constexpr T least_root = sizeof(T) == 4 ? T(0x1p-50) : T(0x1p-450);
  /// The same of finite numbers from y, 1 / sqrt(x) with an error below 2^-14 of it: the last step
  /// (Markstein) rounds correctly. With y = 0 it is 0 of 0, with its sign.
  QUARRY_INLINED static T from_reciprocal(T x, T y) {
    T root = x * y, half = y * T(0.5);
    for (u64 bits = 14; bits < 4 * sizeof(T); bits *= 2) {
      const T rest = fused(-half, root, T(0.5));
      root = fused(root, rest, root);
      half = fused(half, rest, half);
    }
    return corrected(root, half, x);
  }
  /// The same of float from an error of at most 2^-11. The root is corrected twice: after one step
  /// more of those above there are approximations from which the root of 1 + 2^-23 is not rounded
  /// correctly.
  QUARRY_INLINED static float from_short_reciprocal(float x, float y) {
    const float first = x * y, half = y * 0.5f, rest = fused(-half, first, 0.5f);
    const float second = fused(first, rest, first), second_half = fused(half, rest, half);
    const float third_half = fused(second_half, fused(-second_half, second, 0.5f), second_half);
    return corrected(corrected(second, third_half, x), third_half, x);
  }
  QUARRY_INLINED static T corrected(T root, T half_reciprocal, T x) {
    return fused(fused(-root, root, x), half_reciprocal, root);
  }
};

/// e^x = 2^n * (1 + tail); the last bits of `shifted` are n.
template <class T>
struct reduced_exp {
  word<T> shifted;
  T tail;

  /// 2^n for normal results: higher bits are shifted out.
  QUARRY_INLINED static T scale(word<T> shifted) {
    return bits_as<T>(sum<word<T>>(shifted << format<T>::bits, bits_as<word<T>>(T(1))));
  }
  QUARRY_INLINED static word<T> power(word<T> shifted) {
    return difference(shifted, bits_as<word<T>>(whole_bits<T>));
  }
};
template <class T>
QUARRY_INLINED static reduced_exp<T> reduce_exp(T x) {
  const T shifted = fused(x, T(1.44269504088896338700), whole_bits<T>);
  const T n = shifted - whole_bits<T>;
  const T r = fused(n, -format<T>::ln2_low, fused(n, -format<T>::ln2_high, x));
  if constexpr (sizeof(T) == 4) {
    static constexpr T c[] = {0.49999994f, 0.166665211f, 0.0416683741f, 0.00836864486f,
                              0.00138149294f};
    return {bits_as<word<T>>(shifted), fused(r * r, series(r, c), r)};
  } else {
    static constexpr T c[] = {0.500000000000001,      0.1666666666666642,
                              0.04166666666653552,    0.008333333333493098,
                              0.0013888888942397064,  0.00019841269506680551,
                              2.4801494247090735e-05, 2.7557588116506485e-06,
                              2.7629873900284464e-07, 2.499907359883986e-08};
    return {bits_as<word<T>>(shifted), fused(r * r, series(r, c), r)};
  }
}
template <class T>
QUARRY_INLINED static T within(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

template <class T>
struct exp_of {
  static constexpr bool has_rare = true;
  static constexpr T highest = sizeof(T) == 4 ? T(87) : T(708), lowest = -highest;
  QUARRY_INLINED static T usual(T x) {
    const reduced_exp<T> e = reduce_exp(x);
    const T scale = e.scale(e.shifted);
    return fused(e.tail, scale, scale);
  }
  QUARRY_INLINED static T rare(T x) {
    constexpr T low = sizeof(T) == 4 ? T(-104) : T(-746), high = sizeof(T) == 4 ? T(89) : T(710);
    const reduced_exp<T> e = reduce_exp(within(x, low, high));
    // in two steps, of which the second overflows or rounds to a subnormal number
    const word<T> n = e.power(e.shifted), half = n >> 1;
    const T first = e.scale(half), result = fused(e.tail, first, first);
    return x != x ? x : result * e.scale(difference(n, half));
  }
};

template <class T>
struct log_of {
  using W = word<T>;
  static constexpr int bits = format<T>::bits;
  /// The fraction is from here to twice this: a square root of a half, or 2 / 3.
  static constexpr W fraction = sizeof(T) == 4 ? W(0x3f2aaaab) : W(0x3fe6a09e667f3bcd);

  static constexpr bool has_rare = true;
  /// Positive normal numbers.
  static constexpr T lowest = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022),
                     highest = sizeof(T) == 4 ? T(0x1.fffffep127) : T(0x1.fffffffffffffp1023);
  QUARRY_INLINED static T usual(T x) { return scaled(x, 0); }
  QUARRY_INLINED static T rare(T x) {
    const bool is_subnormal = x < lowest;
    const T up = static_cast<T>(i64{1} << bits);
    const T result = scaled(is_subnormal ? x * up : x, is_subnormal ? W(bits) : W(0));
    const T at_most_zero = x == 0 ? -infinity<T> : not_a_number<T>;
    const T positive = x < infinity<T> ? result : x;  // a NaN too
    return x <= 0 ? at_most_zero : positive;
  }
  /// log(x / 2^down) of a normal number.
  QUARRY_INLINED static T scaled(T x, W down) {
    const W above = difference(bits_as<W>(x), fraction), n = above >> bits;
    const T f = bits_as<T>(sum<W>(above & ((W{1} << bits) - 1), fraction)) - 1;
    const T k = exponent(difference(n, down));
    if constexpr (sizeof(T) == 4) {
      static constexpr T c[] = {0.3333323f,   -0.24999696f,  0.200097844f, -0.166852102f,
                                0.140146434f, -0.121181056f, 0.139459446f, -0.131804585f};
      const T square = f * f, rest = fused(f, series(f, c), T(-0.5));
      return fused(k, format<T>::ln2, fused(square, rest, f));
    } else {
      return from_parts(f, k);
    }
  }
  /// k log(2) + log(1 + f) by s = f / (2 + f), whose division is a polynomial and Newton's method.
  QUARRY_INLINED static T from_parts(T f, T k) {
    static constexpr T inverse[] = {0.49995695710714283, -0.2503862000360889, 0.12813332718831894,
                                    -0.057135022977269107};
    static constexpr T c[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                              2.857142874366239149e-01, 2.222219843214978396e-01,
                              1.818357216161805012e-01, 1.531383769920937332e-01,
                              1.479819860510658591e-01};
    const T y = f + 2, rough = series(f, inverse);
    const T w = fused(rough, fused(-rough, y, T(1)), rough);
    const T quotient = f * w, s = fused(fused(-quotient, y, f), w, quotient);
    const T z = s * s, one_plus = fused(-s, fused(-z, series(z, c), f), f);
    return fused(k, format<T>::ln2_high, fused(k, format<T>::ln2_low, one_plus));
  }
  /// A small whole number as T; AVX2 converts none of 64 bits.
  QUARRY_INLINED static T exponent(W n) {
    if constexpr (sizeof(T) == 4)
      return static_cast<T>(n);
    else
      return bits_as<T>(sum(n, bits_as<W>(whole_bits<T>))) - whole_bits<T>;
  }
};

/// x less the nearest multiple of pi / 2, and the last two bits of that multiple.
template <class T>
struct quarter {
  word<T> number;
  T rest;
};
QUARRY_INLINED static quarter<double> reduce(double x) {
  const double shifted = fused(x, 6.36619772367581382433e-01, whole_bits<double>);
  const double n = shifted - whole_bits<double>;
  // a part of 33 bits, whose product is exact; then what the second difference has rounded away
  constexpr double middle = 6.07710050630396597660e-11, low = 2.02226624879595063154e-21;
  const double high = fused(n, -1.57079632673412561417e+00, x);
  const double rest = fused(n, -middle, high), lost = fused(n, -middle, high - rest);
  return {bits_as<i64>(shifted), rest + fused(n, -low, lost)};
}
/// The first part has 20 bits after the point: the first difference is exact, the others are
/// rounded in proportion to the result.
QUARRY_INLINED static quarter<float> reduce(float x) {
  const float shifted = fused(x, 6.36619747e-01f, whole_bits<float>);
  const float n = shifted - whole_bits<float>;
  const float high = fused(n, -0x1.921fb0p+00f, x), middle = fused(n, -0x1.5110b4p-22f, high);
  return {bits_as<i32>(shifted), fused(n, -0x1.846988p-48f, middle)};
}

template <class T>
QUARRY_INLINED static T sine(T r, T z) {
  if constexpr (sizeof(T) == 4) {
    static constexpr T c[] = {-0.166666538f, 0.00833208393f, -0.000195043234f};
    return fused(r * z, series(z, c), r);
  } else {
    static constexpr T c[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                              -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                              -2.50507602534068634195e-08, 1.58969099521155010221e-10};
    return fused(r * z, series(z, c), r);
  }
}
template <class T>
QUARRY_INLINED static T cosine(T z) {
  if constexpr (sizeof(T) == 4) {
    static constexpr T c[] = {0.0416666456f, -0.00138872431f, 2.44238927e-05f};
    return fused(z, fused(z, series(z, c), T(-0.5)), T(1));
  } else {
    static constexpr T c[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                              2.48015872894767294178e-05, -2.75573143513906633035e-07,
                              2.08757232129817482790e-09, -1.13596475577881948265e-11};
    return fused(z, fused(z, series(z, c), T(-0.5)), T(1));
  }
}
/// sin(x + first * pi / 2)
template <class T>
QUARRY_INLINED static T sine_from(T x, word<T> first) {
  const quarter<T> q = reduce(x);
  const word<T> number = sum(q.number, first);
  const T z = q.rest * q.rest;
  const T value = (number & 1) != 0 ? cosine(z) : sine(q.rest, z);
  const word<T> sign = (number & 2) << (sizeof(T) * 8 - 2);
  return bits_as<T>(bits_as<word<T>>(value) ^ sign);
}

/// Beyond this the reduction loses digits.
template <class T>
struct periodic {
  static constexpr bool has_rare = true;
  static constexpr T highest = T(500000), lowest = -highest;
};
template <class T>
struct sin_of : periodic<T> {
  QUARRY_INLINED static T usual(T x) {
    const T value = sine_from<T>(x, 0);
    return x == 0 ? x : value;
  }
  static T rare(T x) {
    if constexpr (sizeof(T) == 4)
      return __builtin_sinf(x);
    else
      return __builtin_sin(x);
  }
};
template <class T>
struct cos_of : periodic<T> {
  QUARRY_INLINED static T usual(T x) { return sine_from<T>(x, 1); }
  static T rare(T x) {
    if constexpr (sizeof(T) == 4)
      return __builtin_cosf(x);
    else
      return __builtin_cos(x);
  }
};

template <class T>
struct tanh_of : without_rare<T> {
  QUARRY_INLINED static T usual(T x) { return from_less_one(half_less_one(x), x); }
  /// (e^(2 |x|) - 1) / 2, of a size from which tanh is 1 if |x| is larger.
  QUARRY_INLINED static T half_less_one(T x) {
    const T size = magnitude(x), limited = size > T(22) ? T(22) : size;  // a NaN stays
    if constexpr (sizeof(T) == 4) {
      return half_less_one_of_float(limited);
    } else {
      const reduced_exp<T> e = reduce_exp(2 * limited);
      const T half_scale = e.scale(e.shifted) * T(0.5);
      return fused(half_scale, e.tail, half_scale - T(0.5));
    }
  }
  /// With the sign of x: `less_one` has none.
  QUARRY_INLINED static T from_less_one(T less_one, T x) {
    constexpr auto sign = bits_as<word<T>>(T(-0.));
    const T size = less_one / (less_one + 1);
    return bits_as<T>(bits_as<word<T>>(size) | (bits_as<word<T>>(x) & sign));
  }
  /// Of float the low part of log(2) changes nothing: large arguments have results near 1.
  QUARRY_INLINED static float half_less_one_of_float(float x) {
    static constexpr float c[] = {4 * 0.49999994f, 8 * 0.166665211f, 16 * 0.0416683741f,
                                  32 * 0.00836864486f, 64 * 0.00138149294f};
    const float shifted = fused(x, 2.88539008f, whole_bits<float>);
    const float r = fused(shifted - whole_bits<float>, -0.346573590f, x);
    const float tail = fused(r * r, series(r, c), r + r);
    const float half_scale = bits_as<float>(sum(bits_as<i32>(shifted) << 23, bits_as<i32>(0.5f)));
    return fused(half_scale, tail, half_scale - 0.5f);
  }
};

}  // namespace quarry::kernels::vector_math
