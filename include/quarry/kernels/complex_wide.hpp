// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Complex functions that need more digits than their type has: computed in double for
// complex<float> too, and with sums and products of twice the digits where terms cancel.

#include <quarry/kernels/complex.hpp>

namespace quarry::kernels::math {

template <class T>
struct unevaluated_sum {
  T high, low;
};
// x + y and x * y without an error: D. Knuth, The Art of Computer Programming 2, 4.2.2; T. Dekker,
// A floating-point technique for extending the available precision, 1971.
template <class T>
QUARRY_HD unevaluated_sum<T> exact_sum(T x, T y) {
  const T sum = x + y, part = sum - x;
  return {sum, (x - (sum - part)) + (y - part)};
}
template <class T>
QUARRY_HD unevaluated_sum<T> exact_product(T x, T y) {
  const T product = x * y;
  return {product, QUARRY_LIBM(fma)(x, y, -product)};
}

// x^2 + y^2 + more, accurate also where it cancels: SumK of T. Ogita, S. Rump, S. Oishi, Accurate
// sum and dot product, 2005.
template <class T>
QUARRY_LONG T cancelling_norm(T x, T y, T more) {
  const auto a = exact_product(x, x), b = exact_product(y, y);
  T term[5] = {more, a.high, b.high, a.low, b.low};
  for (int pass = 0; pass < 3; ++pass) {
    for (int i = 1; i < 5; ++i) {
      const auto sum = exact_sum(term[i], term[i - 1]);
      term[i] = sum.high;
      term[i - 1] = sum.low;
    }
  }
  return term[4] + (term[3] + (term[2] + (term[1] + term[0])));
}

// log |z|; where |z| is near 1, log1p(|z|^2 - 1) / 2.
template <class T>
QUARRY_LONG T log_abs(complex<T> z) {
  const T square = z.re * z.re + z.im * z.im;
  if (square > T(0.25) && square < T(4)) return T(0.5) * log1p(cancelling_norm(z.re, z.im, T(-1)));
  const T largest = larger(z);
  if (largest > T(0x1p1000) && isfinite(z))  // without overflow, and with a subnormal's digits
    return log(abs(scaled(z, T(0x1p-100)))) + T(69.314718055994530942);
  if (largest < T(0x1p-900) && largest > 0)
    return log(abs(scaled(z, T(0x1p100)))) - T(69.314718055994530942);
  return log(abs(z));
}
template <class T>
QUARRY_LONG complex<T> wide_log(complex<T> z) {
  return {log_abs(z), arg(z)};
}
template <class T>
QUARRY_LONG complex<T> wide_log2(complex<T> z) {
  return scaled(wide_log(z), T(1.44269504088896340736));
}
template <class T>
QUARRY_LONG complex<T> wide_log10(complex<T> z) {
  return scaled(wide_log(z), T(0.434294481903251827651));
}

// log |1 + z|; where that is near 0, log1p(|z|^2 + 2 Re z) / 2.
template <class T>
QUARRY_HD T log1p_abs(complex<T> z) {
  const T x = z.re + 1, square = x * x + z.im * z.im;
  if (!(square > T(0.25) && square < T(4))) return log_abs(complex<T>{x, z.im});
  if (larger(z) < T(0x1p-400)) {  // with the digits of the squares, which may be subnormal
    const complex<T> up = scaled(z, T(0x1p500));
    return cancelling_norm(up.re, up.im, 2 * (up.re * T(0x1p500))) * T(0x1p-500) * T(0x1p-501);
  }
  return T(0.5) * log1p(cancelling_norm(z.re, z.im, 2 * z.re));
}
template <class T>
QUARRY_LONG complex<T> wide_log1p(complex<T> z) {
  if (z.im == 0 && abs(z.re) < T(0.5)) return {log1p(z.re), z.im};
  return {log1p_abs(z), atan2(z.im, z.re + 1)};
}

// Arithmetic of about twice the digits (Dekker): errors are small beside the operands.
template <class T>
QUARRY_HD unevaluated_sum<T> operator+(unevaluated_sum<T> x, unevaluated_sum<T> y) {
  const auto sum = exact_sum(x.high, y.high);
  return exact_sum(sum.high, sum.low + (x.low + y.low));
}
template <class T>
QUARRY_HD unevaluated_sum<T> operator-(unevaluated_sum<T> x, unevaluated_sum<T> y) {
  return x + unevaluated_sum<T>{-y.high, -y.low};
}
template <class T>
QUARRY_HD unevaluated_sum<T> operator*(unevaluated_sum<T> x, unevaluated_sum<T> y) {
  const auto product = exact_product(x.high, y.high);
  return exact_sum(product.high, product.low + (x.high * y.low + x.low * y.high));
}

// Re (e^z - 1) to twice the digits, for |Re z| < 20 and |Im z| < 2^20: the Taylor series at z /
// 512, and nine times e^2w - 1 = (e^w - 1)(e^w - 1 + 2).
template <class T>
QUARRY_LONG T cancelling_expm1(complex<T> z) {
  using Wide = unevaluated_sum<T>;
  const T turns = rint(z.im * T(0.15915494309189533577)), down = T(0x1p-9);
  const Wide whole = exact_product(turns, T(6.2831853071795862320)),
             rest = exact_product(turns, T(2.4492935982947063545e-16));
  const Wide y = exact_sum(z.im, -whole.high) - Wide{whole.low, 0} - rest +
                 Wide{turns * T(5.9895396194366793e-33), 0};
  const complex<Wide> w{{z.re * down, 0}, {y.high * down, y.low * down}}, one{{1, 0}, {0, 0}};
  complex<Wide> series = one;
  for (int n = 17; n > 1; --n) {
    const T part = T(1) / T(n);
    const Wide inverse{part, QUARRY_LIBM(fma)(-part, T(n), T(1)) * part};
    const complex<Wide> next = w * series;
    series = one + complex<Wide>{next.re * inverse, next.im * inverse};
  }
  complex<Wide> result = w * series;
  for (int doubled = 0; doubled < 9; ++doubled) result = result * (result + (one + one));
  return result.re.high + result.re.low;
}

// e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y / 2).
template <class T>
QUARRY_LONG complex<T> wide_expm1(complex<T> z) {
  const complex<T> e = exp(z);
  if (z.im == 0) return {expm1(z.re), z.im};
  if (z.re > 100 || isinf(z.re)) return {z.re < 0 ? T(-1) : e.re, e.im};
  if (larger(z) < T(0x1p-400)) return {QUARRY_LIBM(fma)(-z.im, z.im, 2 * z.re) * T(0.5), e.im};
  const T cosine = cos(z.im);
  if (!(cosine > 0)) return {e.re - 1, e.im};  // both terms have one sign
  const T half_sine = sin(z.im * T(0.5)), drop = 2 * half_sine * half_sine;
  const T re = expm1(z.re) * cosine - drop;
  const bool cancels = z.re > 0 && abs(re) < drop && z.re < 20 && abs(z.im) < T(0x1p20);
  return {cancels ? cancelling_expm1(z) : re, e.im};
}

// 2^x (cos + i sin)(y log 2), where y log 2 has twice the digits; a small y, whose product might be
// subnormal, is lifted to begin with.
template <class T>
QUARRY_LONG complex<T> wide_exp2(complex<T> z) {
  constexpr T log_two = T(0.693147180559945309417), log_two_rest = T(2.3190468138462996154e-17);
  if (z.im == 0) return {exp2(z.re), z.im};
  if (!isfinite(z)) return exp(complex<T>{z.re, z.im * log_two});
  const T lift = abs(z.im) < T(0x1p-300) ? T(0x1p200) : T(1), y = z.im * lift;
  const auto angle = exact_product(y, log_two);
  const T more = angle.low + y * log_two_rest;
  const T c = cos(angle.high), s = sin(angle.high), dc = cos(more), ds = sin(more);
  const T step = z.re > 1000 ? T(1000) : T(0), further = z.re > 2000 ? T(1000) : T(0);
  const T first = exp2(z.re - step - further), second = exp2(step), third = exp2(further);
  return {(c * dc - s * ds) * first * second * third,
          (s * dc + c * ds) * first * (second / lift) * third};
}

// T. Hull, T. Fairgrieve, P. Tang, Implementing the complex arcsine and arccosine functions using
// exception handling, ACM TOMS 23 (1997): with r and s the distances of z from -1 and 1 and
// a = (r + s) / 2, asin z = asin(x / a) + i log(a + sqrt(a^2 - 1)), and acos(x / a) as its real
// part for acos. Here x and y are magnitudes, at most 2^500 and not all too small.
template <class T>
struct arc {
  T asin, acos, growth;  // the real parts of asin and acos, the imaginary part of asin
};
template <class T>
QUARRY_HD arc<T> middle_arc(T x, T y) {
  const T r = hypot(x + 1, y), s = hypot(x - 1, y), a = T(0.5) * (r + s), ratio = x / a;
  arc<T> result;
  const T right = y * y / (r + (x + 1));
  if (ratio <= T(0.6417)) {
    result.asin = asin(ratio);
    result.acos = acos(ratio);
  } else {
    const T sum = a + x;
    const T leg = x <= 1 ? sqrt(T(0.5) * sum * (right + (s + (1 - x))))
                         : y * sqrt(T(0.5) * (sum / (r + (x + 1)) + sum / (s + (x - 1))));
    result.asin = atan(x / leg);
    result.acos = atan(leg / x);
  }
  if (a <= T(1.5)) {
    const T left = x < 1 ? y * y / (s + (1 - x)) : s + (x - 1), above = T(0.5) * (right + left);
    result.growth = log1p(above + sqrt(above * (a + 1)));
  } else {
    result.growth = log(a + sqrt(a * a - 1));
  }
  return result;
}
// Where squares in the above overflow, or vanish beside what they are added to: table 3 there.
template <class T>
QUARRY_HD arc<T> outer_arc(T x, T y) {
  constexpr T quarter = T(1.57079632679489661923), log_two = T(0.693147180559945309417);
  if (x != 1 && y <= T(0x1p-53) * abs(x - 1)) {
    if (x < 1) return {asin(x), acos(x), y / sqrt((1 - x) * (1 + x))};
    const T leg = sqrt(x - 1) * sqrt(x + 1);
    return {quarter, y / leg, x > T(0x1p500) ? log_two + log(x) : log1p((x - 1) + leg)};
  }
  if (y < T(0x1p-500)) return {quarter - sqrt(y), sqrt(y), sqrt(y)};  // x is 1
  if (x <= 1) {
    const T a = y > T(0x1p53) ? y : hypot(T(1), y);  // which may overflow near the maximum
    const T growth = y > T(0x1p500) ? log_two + log(y) : T(0.5) * log1p(2 * y * (y + a));
    return {x / a, quarter - x / a, growth};
  }
  const T slope = x / y;
  return {atan(slope), atan(y / x), log_two + log(y) + T(0.5) * log1p(slope * slope)};
}
template <class T>
QUARRY_LONG arc<T> arc_of(complex<T> z) {
  const T x = abs(z.re), y = abs(z.im);
  constexpr T low = T(0x1p-500), high = T(0x1p500);
  return x >= low && x <= high && y >= low && y <= high ? middle_arc(x, y) : outer_arc(x, y);
}
template <class T>
QUARRY_LONG complex<T> wide_asin(complex<T> z) {
  if (isinf(z)) return {atan2(z.re, abs(z.im)), copysign(limits<T>::highest(), z.im)};
  if (isnan(z)) return {z.re == 0 ? z.re : limits<T>::nan(), limits<T>::nan()};
  const arc<T> a = arc_of(z);
  return {copysign(a.asin, z.re), copysign(a.growth, z.im)};
}
template <class T>
QUARRY_LONG complex<T> wide_acos(complex<T> z) {
  constexpr T pi = T(3.14159265358979323846);
  if (isinf(z)) return {atan2(abs(z.im), z.re), -copysign(limits<T>::highest(), z.im)};
  if (isnan(z)) return {z.re == 0 ? pi / 2 : limits<T>::nan(), limits<T>::nan()};
  const arc<T> a = arc_of(z);
  return {signbit(z.re) ? pi - a.acos : a.acos, copysign(a.growth, -z.im)};
}
template <class T>
QUARRY_LONG complex<T> wide_acosh(complex<T> z) {
  const complex<T> w = wide_acos(z);
  return {abs(w.im), copysign(w.re, z.im)};
}
template <class T>
QUARRY_LONG complex<T> wide_asinh(complex<T> z) {
  const complex<T> w = wide_asin(turned_left(z));
  return {copysign(w.im, z.re), copysign(w.re, z.im)};
}

// (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y): no term cancels another.
template <class T>
QUARRY_LONG complex<T> wide_tanh(complex<T> z) {
  if (isinf(z.re))
    return {copysign(T(1), z.re), copysign(T{}, isfinite(z.im) ? sin(z.im) * cos(z.im) : z.im)};
  if (z.im == 0) return {tanh(z.re), z.im};
  if (!isfinite(z.im)) return {z.re == 0 ? z.re : z.im - z.im, z.im - z.im};
  const T sine = sin(z.im), cosine = cos(z.im);
  if (abs(z.re) > T(far_out))
    return {copysign(T(1), z.re), 4 * sine * cosine * exp(-2 * abs(z.re))};
  const T s = sinh(z.re), below = s * s + cosine * cosine;
  return {s * cosh(z.re) / below, sine * cosine / below};
}
template <class T>
QUARRY_LONG complex<T> wide_tan(complex<T> z) {
  return turned_right(wide_tanh(turned_left(z)));
}

// W. Kahan, Branch cuts for complex elementary functions, 1987:
// log1p(4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2, of magnitudes.
template <class T>
QUARRY_HD complex<T> atanh_of(T x, T y) {
  constexpr T quarter = T(1.57079632679489661923), huge = T(0x1p60);
  if (isinf(x) || isinf(y)) return {0, isnan(y) ? y : quarter};
  if (isnan(x) || isnan(y)) return {x == 0 ? x : limits<T>::nan(), limits<T>::nan()};
  if (x > huge || y > huge) {  // Re 1 / z, and a quarter turn
    const T large = maximum(x, y), small = minimum(x, y) / large;
    return {(x / large) / (1 + small * small) / large, quarter};
  }
  const bool near_pole = x == 1 && y < T(1e-9);  // where y * y may vanish
  const T re = near_pole ? T(0.5) * (T(0.693147180559945309417) - log(y))
                         : T(0.25) * log1p(4 * x / ((1 - x) * (1 - x) + y * y));
  return {re, T(0.5) * atan2(2 * y, (1 - x) * (1 + x) - y * y)};
}
template <class T>
QUARRY_LONG complex<T> wide_atanh(complex<T> z) {
  const complex<T> w = atanh_of(abs(z.re), abs(z.im));
  return {copysign(w.re, z.re), copysign(w.im, z.im)};
}
template <class T>
QUARRY_LONG complex<T> wide_atan(complex<T> z) {
  const complex<T> w = atanh_of(abs(z.im), abs(z.re));
  return {copysign(w.im, z.re), copysign(w.re, z.im)};
}

#define QUARRY_COMPLEX_WIDE(function)                                         \
  template <class T>                                                          \
  QUARRY_HD complex<T> function(complex<T> z) {                               \
    return convert<complex<T>>(wide_##function(convert<complex<double>>(z))); \
  }
QUARRY_COMPLEX_WIDE(log)
QUARRY_COMPLEX_WIDE(log2)
QUARRY_COMPLEX_WIDE(log10)
QUARRY_COMPLEX_WIDE(log1p)
QUARRY_COMPLEX_WIDE(expm1)
QUARRY_COMPLEX_WIDE(exp2)
QUARRY_COMPLEX_WIDE(asin)
QUARRY_COMPLEX_WIDE(acos)
QUARRY_COMPLEX_WIDE(atan)
QUARRY_COMPLEX_WIDE(asinh)
QUARRY_COMPLEX_WIDE(acosh)
QUARRY_COMPLEX_WIDE(atanh)
QUARRY_COMPLEX_WIDE(tan)
QUARRY_COMPLEX_WIDE(tanh)
#undef QUARRY_COMPLEX_WIDE

// NumPy's npy_cpow: small whole exponents by repeated multiplication, the others as exp(y log x).
template <class T>
QUARRY_HD complex<T> whole_power(complex<T> x, int exponent) {
  complex<T> result{1, 0}, base = x;
  for (int rest = exponent < 0 ? -exponent : exponent; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result = result * base;
    base = base * base;
  }
  return exponent < 0 ? complex<T>{1, 0} / result : result;
}
template <class T>
QUARRY_LONG complex<T> wide_power(complex<T> x, complex<T> y) {
  if (y == complex<T>{0, 0}) return {1, 0};
  if (x == complex<T>{0, 0}) return y.re > 0 ? complex<T>{0, 0} : limits<complex<T>>::nan();
  if (y.im == 0 && abs(y.re) < 100 && trunc(y.re) == y.re)
    return whole_power(x, static_cast<int>(y.re));
  const complex<T> base = log(x);
  const T re = y.re * base.re - y.im * base.im, im = y.re * base.im + y.im * base.re;
  if (isinf(im) && re < T(-2000)) return {0, 0};
  return exp(complex<T>{re, im});
}
template <class T>
QUARRY_HD complex<T> power(complex<T> x, complex<T> y) {
  return convert<complex<T>>(wide_power(convert<complex<double>>(x), convert<complex<double>>(y)));
}

}  // namespace quarry::kernels::math
