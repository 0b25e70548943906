// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// Functions of real numbers without branches, so that the compiler makes vector instructions of
/// loops over them, with the same bits for every length of vectors. The methods are those of fdlibm
/// and Cephes: reduction of the argument, and series whose remainder is below half an ulp.
/// `is_rare` arguments are left to the C library.
namespace quarry::kernels::vector_math {

#define QUARRY_INLINED [[gnu::always_inline]] static inline

template <class T>
struct format;
template <>
struct format<float> {
  using word = i32;
  static constexpr int bits = 23, bias = 127;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
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
QUARRY_INLINED W sum(W a, W b) {
  return static_cast<W>(static_cast<make_unsigned<W>>(a) + static_cast<make_unsigned<W>>(b));
}
template <class W>
QUARRY_INLINED W difference(W a, W b) {
  return static_cast<W>(static_cast<make_unsigned<W>>(a) - static_cast<make_unsigned<W>>(b));
}

/// Added to a number of small magnitude it leaves a whole number in the last bits.
template <class T>
inline constexpr T whole_bits = T(1.5) * static_cast<T>(i64{1} << format<T>::bits);
template <class T>
inline constexpr T infinity = static_cast<T>(__builtin_inf());
template <class T>
inline constexpr T not_a_number = static_cast<T>(__builtin_nan(""));

/// 2^n for normal results.
template <class T>
QUARRY_INLINED T power_of_two(word<T> n) {
  return bits_as<T>(sum<word<T>>(n, format<T>::bias) << format<T>::bits);
}

/// coefficients[0] + x * (coefficients[1] + x * ...)
template <class T, u64 N>
QUARRY_INLINED T series(T x, const T (&coefficients)[N]) {
  T sum = coefficients[N - 1];
  for (u64 k = N - 1; k-- > 0;) sum = sum * x + coefficients[k];
  return sum;
}

/// Of functions that are the same everywhere.
template <class T>
struct without_rare {
  static bool is_rare(T) { return false; }
  static T rare(T x) { return x; }
};

template <class T>
struct sqrt_of : without_rare<T> {
  QUARRY_INLINED T usual(T x) {
    if constexpr (sizeof(T) == 4)
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
  }
};

/// e^x = 2^n * (1 + tail)
template <class T>
struct reduced_exp {
  word<T> n;
  T tail;
};
template <class T>
QUARRY_INLINED reduced_exp<T> reduce_exp(T x) {
  const T shifted = x * T(1.44269504088896338700) + whole_bits<T>;
  const T n = shifted - whole_bits<T>;
  const T r = (x - n * format<T>::ln2_high) - n * format<T>::ln2_low;
  const word<T> whole = difference(bits_as<word<T>>(shifted), bits_as<word<T>>(whole_bits<T>));
  if constexpr (sizeof(T) == 4) {
    static constexpr T c[] = {0.5f,
                              1.6666667163e-1f,
                              4.1666667908e-2f,
                              8.3333337680e-3f,
                              1.3888889225e-3f,
                              1.9841270114e-4f};
    return {whole, r + r * r * series(r, c)};
  } else {
    static constexpr T c[] = {1. / 2,       1. / 6,        1. / 24,        1. / 120,
                              1. / 720,     1. / 5040,     1. / 40320,     1. / 362880,
                              1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
    return {whole, r + r * r * series(r, c)};
  }
}
template <class T>
QUARRY_INLINED T within(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

template <class T>
struct exp_of : without_rare<T> {
  QUARRY_INLINED T usual(T x) {
    constexpr T low = sizeof(T) == 4 ? T(-104) : T(-746), high = sizeof(T) == 4 ? T(89) : T(710);
    const reduced_exp<T> e = reduce_exp(within(x, low, high));
    // in two steps, of which the second overflows or rounds to a subnormal number
    const word<T> half = e.n >> 1;
    const T result = (1 + e.tail) * power_of_two<T>(half) * power_of_two<T>(difference(e.n, half));
    return x != x ? x : result;
  }
};

template <class T>
struct log_of : without_rare<T> {
  QUARRY_INLINED T usual(T x) {
    using W = word<T>;
    constexpr int bits = format<T>::bits;
    constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
    constexpr W root = sizeof(T) == 4 ? W(0x3f3504f3) : W(0x3fe6a09e667f3bcd);  // of a half
    const bool is_subnormal = x < least;
    const T scaled = is_subnormal ? x * static_cast<T>(i64{1} << bits) : x;
    const W above = difference(bits_as<W>(scaled), root), n = above >> bits;
    const T f = bits_as<T>(sum<W>(above & ((W{1} << bits) - 1), root)) - 1;
    const T k = exponent(is_subnormal ? n - bits : n);
    const T s = f / (2 + f), z = s * s, half_square = f * f * T(0.5);
    T r;
    if constexpr (sizeof(T) == 4) {
      static constexpr T c[] = {T(2. / 3), T(2. / 5), T(2. / 7), T(2. / 9), T(2. / 11)};
      r = z * series(z, c);
    } else {
      static constexpr T c[] = {2. / 3,  2. / 5,  2. / 7,  2. / 9,  2. / 11,
                                2. / 13, 2. / 15, 2. / 17, 2. / 19, 2. / 21};
      r = z * series(z, c);
    }
    const T tail = half_square - (s * (half_square + r) + k * format<T>::ln2_low);
    const T result = k * format<T>::ln2_high - (tail - f);
    const T at_most_zero = x == 0 ? -infinity<T> : not_a_number<T>;
    const T positive = x < infinity<T> ? result : x;  // a NaN too
    return x <= 0 ? at_most_zero : positive;
  }
  /// A small whole number as T; the processor converts none of 64 bits in vectors.
  QUARRY_INLINED T exponent(word<T> n) {
    return bits_as<T>(sum(n, bits_as<word<T>>(whole_bits<T>))) - whole_bits<T>;
  }
};

/// x less the nearest multiple of pi / 2, and the last two bits of that multiple.
template <class T>
struct quarter {
  word<T> number;
  T rest;
};
QUARRY_INLINED quarter<double> reduce(double x) {
  const double shifted = x * 6.36619772367581382433e-01 + whole_bits<double>;
  const double n = shifted - whole_bits<double>;
  // parts of 33 bits, whose products are exact; then what the second difference has rounded away
  const double high = x - n * 1.57079632673412561417e+00, middle = n * 6.07710050630396597660e-11;
  const double rest = high - middle, lost = (high - rest) - middle;
  return {bits_as<i64>(shifted), rest + (lost - n * 2.02226624879595063154e-21)};
}
QUARRY_INLINED quarter<float> reduce(float x) {
  const double wide = static_cast<double>(x);
  const double shifted = wide * 6.36619772367581382433e-01 + whole_bits<double>;
  const double n = shifted - whole_bits<double>;
  const double rest = (wide - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11;
  return {static_cast<i32>(n), static_cast<float>(rest)};
}

template <class T>
QUARRY_INLINED T sine(T r) {
  const T z = r * r;
  if constexpr (sizeof(T) == 4) {
    static constexpr T c[] = {-1.6666667163e-1f, 8.3333337680e-3f, -1.9841270114e-4f,
                              2.7557318844e-6f};
    return r + r * (z * series(z, c));
  } else {
    static constexpr T c[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                              -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                              -2.50507602534068634195e-08, 1.58969099521155010221e-10};
    return r + r * (z * series(z, c));
  }
}
template <class T>
QUARRY_INLINED T cosine(T r) {
  const T z = r * r, half = z * T(0.5), most = 1 - half;
  if constexpr (sizeof(T) == 4) {
    static constexpr T c[] = {4.1666667908e-2f, -1.3888889225e-3f, 2.4801587642e-5f,
                              -2.7557314297e-7f};
    return most + (((1 - most) - half) + z * (z * series(z, c)));
  } else {
    static constexpr T c[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                              2.48015872894767294178e-05, -2.75573143513906633035e-07,
                              2.08757232129817482790e-09, -1.13596475577881948265e-11};
    return most + (((1 - most) - half) + z * (z * series(z, c)));
  }
}
/// sin(x + first * pi / 2)
template <class T>
QUARRY_INLINED T sine_from(T x, word<T> first) {
  const quarter<T> q = reduce(x);
  const word<T> number = sum(q.number, first);
  const T value = (number & 1) != 0 ? cosine(q.rest) : sine(q.rest);
  return (number & 2) != 0 ? -value : value;
}

/// Beyond this the products of the reduction are not exact.
template <class T>
struct periodic {
  QUARRY_INLINED bool is_rare(T x) { return !(x < T(500000) && x > T(-500000)); }
};
template <class T>
struct sin_of : periodic<T> {
  QUARRY_INLINED T usual(T x) {
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
  QUARRY_INLINED T usual(T x) { return sine_from<T>(x, 1); }
  static T rare(T x) {
    if constexpr (sizeof(T) == 4)
      return __builtin_cosf(x);
    else
      return __builtin_cos(x);
  }
};

template <class T>
struct tanh_of : without_rare<T> {
  QUARRY_INLINED T usual(T x) {
    const T magnitude = x < 0 ? -x : x;
    const reduced_exp<T> e = reduce_exp(within(2 * magnitude, T(0), T(44)));
    const T scale = power_of_two<T>(e.n), less_one = scale * e.tail + (scale - 1);  // e^2|x| - 1
    const T value = less_one / (less_one + 2);
    const T signed_value = x < 0 ? -value : value;
    return x == 0 || x != x ? x : signed_value;
  }
};

#undef QUARRY_INLINED

}  // namespace quarry::kernels::vector_math
