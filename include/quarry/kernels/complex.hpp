// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// Complex elements. Multiplication is the naive one and division Smith's, as in NumPy; order is
// lexicographic. The branch cuts and the signs of zero are those of C99 Annex G; the inverse
// functions are Kahan's ("Branch cuts for complex elementary functions", 1987), the others follow
// FreeBSD's msun.

#include <quarry/kernels/math.hpp>

namespace quarry::kernels {

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
template <class T>
QUARRY_HD complex<T> operator/(complex<T> x, complex<T> y) {
  const T re_size = math::abs(y.re), im_size = math::abs(y.im);
  if (re_size == 0 && im_size == 0) return {x.re / re_size, x.im / re_size};
  if (re_size >= im_size) {
    const T ratio = y.im / y.re, scale = 1 / (y.re + y.im * ratio);
    return {(x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale};
  }
  const T ratio = y.re / y.im, scale = 1 / (y.im + y.re * ratio);
  return {(x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale};
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
  const T size = abs(z);
  if (size == 0) return {0, 0};
  if (isnan(size) || (isinf(z.re) && isinf(z.im))) return limits<complex<T>>::nan();
  if (isinf(z.re)) return {sign(z.re), 0};
  if (isinf(z.im)) return {0, sign(z.im)};
  return {z.re / size, z.im / size};
}

// i * z and -i * z, which keep the signs of zeros.
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
  const T largest = maximum(abs(z.re), abs(z.im));
  const bool big = largest > T(sizeof(T) == 4 ? 0x1p125 : 0x1p1021);
  const bool small = largest < T(sizeof(T) == 4 ? 0x1p-100 : 0x1p-1000);
  const T scale = big ? T(0x1p-4) : (small ? T(0x1p60) : T(1));
  const T unscale = big ? T(4) : (small ? T(0x1p-30) : T(1));
  const T x = z.re * scale, y = z.im * scale;
  const T major = sqrt((abs(x) + hypot(x, y)) * T(0.5)), minor = y / (2 * major);
  if (z.re >= 0 || z.re != z.re) return {major * unscale, minor * unscale};
  return {abs(minor) * unscale, copysign(major, y) * unscale};
}

// exp(z.re) * scale * unit, where exp(z.re) alone may overflow.
template <class T>
QUARRY_HD complex<T> scaled_exp(T exponent, complex<T> unit) {
  const T half = exp(exponent * T(0.5));
  const bool large = exponent > T(sizeof(T) == 4 ? 88 : 709);
  const T first = large ? half : exp(exponent), second = large ? half : T(1);
  return {first * unit.re * second, first * unit.im * second};
}

template <class T>
QUARRY_HD complex<T> exp(complex<T> z) {
  if (z.im == 0) return {exp(z.re), z.im};
  if (!isfinite(z.im) && isinf(z.re)) {
    return z.re < 0 ? complex<T>{0, copysign(T{}, z.im)} : complex<T>{z.re, z.im - z.im};
  }
  return scaled_exp(z.re, complex<T>{cos(z.im), sin(z.im)});
}

// log |z|, without overflow, exact for denormals, and without cancellation where |z| is near 1.
template <class T>
QUARRY_HD T log_abs(complex<T> z) {
  const T x = abs(z.re), y = abs(z.im), large = maximum(x, y), small = minimum(x, y),
          size = hypot(x, y);
  if (size > T(0.5) && size < T(2))
    return T(0.5) * log1p((large - 1) * (large + 1) + small * small);
  if (isinf(size) && isfinite(z))
    return log(hypot(x * T(0.5), y * T(0.5))) + T(0.693147180559945309417);
  if (size > 0 && size < T(1e-30)) {  // times 2^60
    const T up = T(1152921504606846976.0);
    return log(hypot(x * up, y * up)) - T(41.5888308335967185650);
  }
  return log(size);
}
template <class T>
QUARRY_HD complex<T> log(complex<T> z) {
  return {log_abs(z), arg(z)};
}
template <class T>
QUARRY_HD complex<T> scaled(complex<T> z, T factor) {
  return {z.re * factor, z.im * factor};
}
template <class T>
QUARRY_HD complex<T> log2(complex<T> z) {
  return scaled(log(z), T(1.44269504088896340736));
}
template <class T>
QUARRY_HD complex<T> log10(complex<T> z) {
  return scaled(log(z), T(0.434294481903251827651));
}
template <class T>
QUARRY_HD complex<T> exp2(complex<T> z) {
  return exp(scaled(z, T(0.693147180559945309417)));
}
template <class T>
QUARRY_HD complex<T> log1p(complex<T> z) {
  const T size = hypot(z.re + 1, z.im);
  const bool near_one = size > T(0.5) && size < T(2);
  const T re = near_one ? T(0.5) * log1p(z.re * (z.re + 2) + z.im * z.im)
                        : log_abs(complex<T>{z.re + 1, z.im});
  return {re, atan2(z.im, z.re + 1)};
}
template <class T>
QUARRY_HD complex<T> expm1(complex<T> z) {
  const T half_sine = sin(z.im * T(0.5));
  return {expm1(z.re) * cos(z.im) - 2 * half_sine * half_sine, exp(z).im};
}

template <class T>
QUARRY_HD complex<T> sinh(complex<T> z) {
  if (z.im == 0) return {sinh(z.re), z.im};
  if (z.re == 0 && !isfinite(z.im)) return {z.re, z.im - z.im};
  if (isinf(z.re) && !isfinite(z.im)) return {z.re, z.im - z.im};
  const complex<T> unit{cos(z.im), sin(z.im)};
  if (abs(z.re) < 22) return {sinh(z.re) * unit.re, cosh(z.re) * unit.im};
  return scaled_exp(abs(z.re), complex<T>{copysign(T(0.5), z.re) * unit.re, T(0.5) * unit.im});
}
template <class T>
QUARRY_HD complex<T> cosh(complex<T> z) {
  if (z.im == 0) return {cosh(z.re), copysign(T{}, z.im) * copysign(T(1), z.re)};
  if (z.re == 0) return {cos(z.im), z.re * sin(z.im)};
  if (isinf(z.re) && !isfinite(z.im)) return {limits<T>::highest(), z.im - z.im};
  const complex<T> unit{cos(z.im), sin(z.im)};
  if (abs(z.re) < 22) return {cosh(z.re) * unit.re, sinh(z.re) * unit.im};
  return scaled_exp(abs(z.re), complex<T>{T(0.5) * unit.re, copysign(T(0.5), z.re) * unit.im});
}
// Kahan's, as in msun's s_ctanh.c.
template <class T>
QUARRY_HD complex<T> tanh(complex<T> z) {
  if (isinf(z.re))
    return {copysign(T(1), z.re), copysign(T{}, isfinite(z.im) ? sin(z.im) * cos(z.im) : z.im)};
  if (z.im == 0) return {tanh(z.re), z.im};
  if (abs(z.re) >= 22) {
    const T decay = exp(-abs(z.re));
    return {copysign(T(1), z.re), 4 * sin(z.im) * cos(z.im) * decay * decay};
  }
  const T tangent = tan(z.im), beta = 1 + tangent * tangent, s = sinh(z.re);
  const T rho = sqrt(1 + s * s), denominator = 1 + beta * s * s;
  return {beta * rho * s / denominator, tangent / denominator};
}
template <class T>
QUARRY_HD complex<T> sin(complex<T> z) {
  return turned_right(sinh(turned_left(z)));
}
template <class T>
QUARRY_HD complex<T> cos(complex<T> z) {
  return cosh(turned_left(z));
}
template <class T>
QUARRY_HD complex<T> tan(complex<T> z) {
  return turned_right(tanh(turned_left(z)));
}

template <class T>
QUARRY_HD complex<T> asin(complex<T> z) {
  if (isinf(z)) return {atan2(z.re, abs(z.im)), copysign(limits<T>::highest(), z.im)};
  const complex<T> below = sqrt(complex<T>{1 - z.re, -z.im}),
                   above = sqrt(complex<T>{1 + z.re, z.im});
  return {atan2(z.re, (below * above).re), asinh((conj(below) * above).im)};
}
template <class T>
QUARRY_HD complex<T> acos(complex<T> z) {
  if (isinf(z)) return {atan2(abs(z.im), z.re), -copysign(limits<T>::highest(), z.im)};
  const complex<T> below = sqrt(complex<T>{1 - z.re, -z.im}),
                   above = sqrt(complex<T>{1 + z.re, z.im});
  return {2 * atan2(below.re, above.re), asinh((conj(above) * below).im)};
}
template <class T>
QUARRY_HD complex<T> acosh(complex<T> z) {
  if (isinf(z)) return {limits<T>::highest(), atan2(z.im, z.re)};
  const complex<T> below = sqrt(complex<T>{z.re - 1, z.im}),
                   above = sqrt(complex<T>{z.re + 1, z.im});
  return {asinh((conj(below) * above).re), 2 * atan2(below.im, above.re)};
}
template <class T>
QUARRY_HD complex<T> asinh(complex<T> z) {
  return turned_right(asin(turned_left(z)));
}
template <class T>
QUARRY_HD complex<T> atanh(complex<T> z) {
  const T x = abs(z.re), y = abs(z.im), large = maximum(x, y);
  const T huge = T(sizeof(T) == 4 ? 0x1p30 : 0x1p60);
  if (large > huge || isinf(y)) {  // 1 / z, and a quarter turn
    const T small = minimum(x, y) / large, re = (x / large) / (1 + small * small) / large;
    const T quarter = T(1.57079632679489661923);
    return {copysign(isinf(z) ? T{} : re, z.re), copysign(quarter, z.im)};
  }
  const bool near_pole = x == 1 && y < T(sizeof(T) == 4 ? 1e-4 : 1e-9);  // where y * y may vanish
  const T re = near_pole ? T(0.5) * (T(0.693147180559945309417) - log(y))
                         : T(0.25) * log1p(4 * x / ((1 - x) * (1 - x) + y * y));
  const T im = T(0.5) * atan2(2 * y, (1 - x) * (1 + x) - y * y);
  return {copysign(re, z.re), copysign(im, z.im)};
}
template <class T>
QUARRY_HD complex<T> atan(complex<T> z) {
  return turned_right(atanh(turned_left(z)));
}

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
QUARRY_HD complex<T> power(complex<T> x, complex<T> y) {
  if (y == complex<T>{0, 0}) return {1, 0};
  if (x == complex<T>{0, 0}) return y.re > 0 ? complex<T>{0, 0} : limits<complex<T>>::nan();
  if (y.im == 0 && abs(y.re) < 100 && trunc(y.re) == y.re)
    return whole_power(x, static_cast<int>(y.re));
  const complex<T> base = log(x);
  return exp(complex<T>{y.re * base.re - y.im * base.im, y.re * base.im + y.im * base.re});
}

}  // namespace math
}  // namespace quarry::kernels
