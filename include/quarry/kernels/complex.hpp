// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Complex elements. Multiplication is the naive one and division Smith's, as in NumPy; order is
// lexicographic. The functions' branch cuts, signs of zero, infinities and NaNs are those of C11,
// Annex G.6. How accurate they are is in docs/numerics.md.

#include <quarry/kernels/math.hpp>

namespace quarry::kernels {

namespace math {

// The larger of the two parts' magnitudes, NaN if one is.
template <class T>
QUARRY_HD T larger(complex<T> z) {
  return maximum(abs(z.re), abs(z.im));
}
template <class T>
QUARRY_HD complex<T> scaled(complex<T> z, T factor) {
  return {z.re * factor, z.im * factor};
}

}  // namespace math

template <class T>
QUARRY_HD complex<T> operator+(complex<T> x, complex<T> y) {
  return {x.re + y.re, x.im + y.im};
}
template <class T>
QUARRY_HD complex<T> operator-(complex<T> x, complex<T> y) {
  return {x.re - y.re, x.im - y.im};
}
template <class T>
QUARRY_HD complex<T> operator-(complex<T> x) {
  return {-x.re, -x.im};
}
template <class T>
QUARRY_HD complex<T> operator*(complex<T> x, complex<T> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
// R. Smith, Algorithm 116: Complex division, CACM 1962.
template <class T>
QUARRY_HD complex<T> smith_quotient(complex<T> x, complex<T> y) {
  if (math::abs(y.re) >= math::abs(y.im)) {
    const T ratio = y.im / y.re, scale = 1 / (y.re + y.im * ratio);
    return {(x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale};
  }
  const T ratio = y.re / y.im, scale = 1 / (y.im + y.re * ratio);
  return {(x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale};
}
// Operands so large or small that an intermediate result could overflow or be subnormal are first
// scaled by a power of two.
template <class T>
QUARRY_HD complex<T> operator/(complex<T> x, complex<T> y) {
  if (y.re == 0 && y.im == 0) return {x.re / math::abs(y.re), x.im / math::abs(y.re)};
  const T size = math::larger(y), other = math::larger(x);
  constexpr T big = T(sizeof(T) == 4 ? 0x1p62 : 0x1p510), tiny = 1 / big;
  if ((size <= big && size >= tiny && other <= big && other >= tiny) || !math::isfinite(size)) {
    return smith_quotient(x, y);
  }
  const T down = size > big ? tiny : (size < tiny ? big : T(1));
  const T across = other > big ? tiny : (other < tiny ? big : T(1));
  const complex<T> q = smith_quotient(math::scaled(x, across), math::scaled(y, down));
  // q * down / across, of which neither is rounded but the last
  if (down == across) return q;
  return math::scaled(math::scaled(q, down), 1 / across);
}
template <class T>
QUARRY_HD bool operator==(complex<T> x, complex<T> y) {
  return x.re == y.re && x.im == y.im;
}
template <class T>
QUARRY_HD bool operator!=(complex<T> x, complex<T> y) {
  return !(x == y);
}
template <class T>
QUARRY_HD bool operator<(complex<T> x, complex<T> y) {
  return x.re == y.re ? x.im < y.im : x.re < y.re && x.im == x.im && y.im == y.im;
}
template <class T>
QUARRY_HD bool operator<=(complex<T> x, complex<T> y) {
  return x.re == y.re ? x.im <= y.im : x < y;
}
template <class T>
QUARRY_HD bool operator>(complex<T> x, complex<T> y) {
  return y < x;
}
template <class T>
QUARRY_HD bool operator>=(complex<T> x, complex<T> y) {
  return y <= x;
}

namespace math {

template <class T>
QUARRY_HD T real(complex<T> z) {
  return z.re;
}
template <class T>
QUARRY_HD T imag(complex<T> z) {
  return z.im;
}
template <class T>
QUARRY_HD complex<T> conj(complex<T> z) {
  return {z.re, -z.im};
}
template <class T>
QUARRY_HD bool isinf(complex<T> z) {
  return isinf(z.re) || isinf(z.im);
}
template <class T>
QUARRY_HD bool isfinite(complex<T> z) {
  return isfinite(z.re) && isfinite(z.im);
}
template <class T>
QUARRY_HD T abs(complex<T> z) {
  return hypot(z.re, z.im);
}
template <class T>
QUARRY_HD T arg(complex<T> z) {
  return atan2(z.im, z.re);
}
template <class T>
QUARRY_HD complex<T> rint(complex<T> z) {
  return {rint(z.re), rint(z.im)};
}
template <class T>
QUARRY_HD complex<T> reciprocal(complex<T> z) {
  return complex<T>{1, 0} / z;
}

// z / |z|; the limit on an axis at infinity, 0 for 0.
template <class T>
QUARRY_HD complex<T> sign(complex<T> z) {
  if (z.re == 0 && z.im == 0) return {0, 0};
  if (isinf(z.re) == isinf(z.im) && (isnan(z) || isinf(z.re))) return limits<complex<T>>::nan();
  if (isinf(z.re)) return {sign(z.re), 0};
  if (isinf(z.im)) return {0, sign(z.im)};
  constexpr T high = T(sizeof(T) == 4 ? 0x1p100 : 0x1p1000), low = 1 / high;
  const T largest = larger(z);  // |z| shall neither overflow nor be subnormal
  const complex<T> inside = scaled(z, largest > high ? low : (largest < low ? high : T(1)));
  const T size = abs(inside);
  return {inside.re / size, inside.im / size};
}

// f(iz) / i, which carries hyperbolic functions over to circular ones: signs are only swapped.
template <class T>
QUARRY_HD complex<T> turned_left(complex<T> z) {
  return {-z.im, z.re};
}
template <class T>
QUARRY_HD complex<T> turned_right(complex<T> z) {
  return {z.im, -z.re};
}

template <class T>
QUARRY_HD complex<T> sqrt(complex<T> z) {
  if (isinf(z.im)) return {limits<T>::highest(), z.im};
  if (z.re == 0 && z.im == 0) return {0, z.im};
  if (isinf(z.re)) {
    const T rest = z.im - z.im;
    return z.re < 0 ? complex<T>{abs(rest), copysign(z.re, z.im)}
                    : complex<T>{z.re, copysign(rest, z.im)};
  }
  // Scaled so that neither |z| overflows nor a subnormal loses digits.
  const T largest = larger(z);
  const bool big = largest > T(sizeof(T) == 4 ? 0x1p125 : 0x1p1021);
  const bool small = largest < T(sizeof(T) == 4 ? 0x1p-100 : 0x1p-1000);
  const T scale = big ? T(0x1p-4) : (small ? T(0x1p60) : T(1));
  const T unscale = big ? T(4) : (small ? T(0x1p-30) : T(1));
  const T x = z.re * scale, y = z.im * scale;
  const T major = sqrt((abs(x) + hypot(x, y)) * T(0.5)), minor = y / (2 * major);
  if (!(z.re < 0)) return {major * unscale, minor * unscale};
  return {abs(minor) * unscale, copysign(major, y) * unscale};
}

// unit * factor * e^x, where e^x alone may overflow: then in steps, as often as the smallest part
// of `unit` could need it.
template <class T>
QUARRY_HD complex<T> times_exp(complex<T> unit, T x, T factor) {
  constexpr T most = T(sizeof(T) == 4 ? 88 : 709), step = T(sizeof(T) == 4 ? 64 : 512);
  constexpr T exp_step = T(sizeof(T) == 4 ? 6.2351490808116168829e27 : 2.2844135865397564793e222);
  const T first = x > most ? exp_step : T(1), second = x > most + step ? exp_step : T(1);
  const T below = x - (x > most ? step : T(0)) - (x > most + step ? step : T(0));
  const complex<T> z = scaled(unit, factor * exp(below));
  return scaled(scaled(z, first), second);
}

template <class T>
QUARRY_HD complex<T> exp(complex<T> z) {
  if (z.im == 0) return {exp(z.re), z.im};
  if (!isfinite(z.im) && isinf(z.re)) {
    return z.re < 0 ? complex<T>{0, copysign(T{}, z.im)} : complex<T>{z.re, z.im - z.im};
  }
  return times_exp(complex<T>{cos(z.im), sin(z.im)}, z.re, T(1));
}

// Beyond this magnitude e^-2|x| is below a half unit in the last place of 1.
inline constexpr double far_out = 22;

template <class T>
QUARRY_HD complex<T> sinh(complex<T> z) {
  if (z.im == 0) return {sinh(z.re), z.im};
  if (!isfinite(z.im) && (z.re == 0 || isinf(z.re))) return {z.re, z.im - z.im};
  const complex<T> unit{cos(z.im), sin(z.im)};
  if (!(abs(z.re) > T(far_out))) return {sinh(z.re) * unit.re, cosh(z.re) * unit.im};
  return times_exp(complex<T>{copysign(T(1), z.re) * unit.re, unit.im}, abs(z.re), T(0.5));
}
template <class T>
QUARRY_HD complex<T> cosh(complex<T> z) {
  if (z.im == 0) return {cosh(z.re), copysign(T{}, z.im) * copysign(T(1), z.re)};
  if (z.re == 0) return {cos(z.im), isfinite(z.im) ? z.re * sin(z.im) : z.re};
  if (isinf(z.re) && !isfinite(z.im)) return {limits<T>::highest(), z.im - z.im};
  const complex<T> unit{cos(z.im), sin(z.im)};
  if (!(abs(z.re) > T(far_out))) return {cosh(z.re) * unit.re, sinh(z.re) * unit.im};
  return times_exp(complex<T>{unit.re, copysign(T(1), z.re) * unit.im}, abs(z.re), T(0.5));
}
template <class T>
QUARRY_HD complex<T> sin(complex<T> z) {
  return turned_right(sinh(turned_left(z)));
}
template <class T>
QUARRY_HD complex<T> cos(complex<T> z) {
  return cosh(turned_left(z));
}

}  // namespace math
}  // namespace quarry::kernels
