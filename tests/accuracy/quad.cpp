// SPDX-License-Identifier: BSD-3-Clause
#include "accuracy/quad.hpp"

#include <map>
#include <string>

#include <quadmath.h>

namespace quarry::accuracy {
namespace {

const Quad log_two = logq(2), log_ten = logq(10);

using Complex = __complex128;

Complex c(const Number& x) {
  Complex z;
  __real__ z = x.re;
  __imag__ z = x.im;
  return z;
}
Number n(Complex z) { return {__real__ z, __imag__ z}; }
Number scaled(Complex z, Quad by) { return {(__real__ z) / by, (__imag__ z) / by}; }

Number reciprocal(const Number& x) {
  const Quad norm = x.re * x.re + x.im * x.im;
  return {x.re / norm, -x.im / norm};
}
Number product(const Number& x, const Number& y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
// The exponents of a double, squared, are far inside those of a quad.
Number quotient(const Number& x, const Number& y) {
  const Quad norm = y.re * y.re + y.im * y.im;
  return {(x.re * y.re + x.im * y.im) / norm, (x.im * y.re - x.re * y.im) / norm};
}
Number sign(const Number& x) {
  const Quad size = hypotq(x.re, x.im);
  if (size == 0) return {0, 0};
  if (isinfq(x.re) && isinfq(x.im)) return {nanq(""), nanq("")};
  if (isinfq(x.re)) return {copysignq(1, x.re), 0};
  if (isinfq(x.im)) return {0, copysignq(1, x.im)};
  return {x.re / size, x.im / size};
}

// |1 + z|^2 - 1 is exact to 60 digits even where the doubles cancel all of theirs.
Number log1p(const Number& x) {
  const Quad u = x.re + 1, norm = u * u + x.im * x.im;
  const bool near = norm > Quad(0.25) && norm < 4;
  const Quad re = near ? log1pq(x.re * (x.re + 2) + x.im * x.im) / 2 : logq(hypotq(u, x.im));
  return {x.im == 0 && x.re > -1 ? log1pq(x.re) : re, atan2q(x.im, u)};
}
Number expm1(const Number& x) {
  if (x.im == 0) return {expm1q(x.re), x.im};
  const Number e = n(cexpq(c(x)));
  if (isinfq(x.re) || x.re > 200) return {x.re < 0 ? Quad(-1) : e.re, e.im};
  const Quad half = sinq(x.im / 2);
  return {expm1q(x.re) * cosq(x.im) - 2 * half * half, e.im};
}
Number exp2(const Number& x) {
  if (x.im == 0) return {exp2q(x.re), x.im};
  return n(cexpq(c({x.re * log_two, x.im * log_two})));
}

Quad square(Quad x) { return x * x; }
Quad inverse(Quad x) { return 1 / x; }

#define UNARY(name, function)                                             \
  {                                                                       \
#name, [](const Number* x) -> Number { return {function(x->re), 0}; } \
  }
#define BINARY(name, expression)         \
  {                                      \
#name, [](const Number* x) -> Number { \
    const Quad a = x[0].re, b = x[1].re; return {expression, 0}; } \
  }
const std::map<std::string, Oracle> real_functions = {UNARY(sqrt, sqrtq),
                                                      UNARY(cbrt, cbrtq),
                                                      UNARY(exp, expq),
                                                      UNARY(exp2, exp2q),
                                                      UNARY(expm1, expm1q),
                                                      UNARY(log, logq),
                                                      UNARY(log2, log2q),
                                                      UNARY(log10, log10q),
                                                      UNARY(log1p, log1pq),
                                                      UNARY(sin, sinq),
                                                      UNARY(cos, cosq),
                                                      UNARY(tan, tanq),
                                                      UNARY(asin, asinq),
                                                      UNARY(acos, acosq),
                                                      UNARY(atan, atanq),
                                                      UNARY(sinh, sinhq),
                                                      UNARY(cosh, coshq),
                                                      UNARY(tanh, tanhq),
                                                      UNARY(asinh, asinhq),
                                                      UNARY(acosh, acoshq),
                                                      UNARY(atanh, atanhq),
                                                      UNARY(reciprocal, inverse),
                                                      UNARY(square, square),
                                                      UNARY(rint, rintq),
                                                      UNARY(floor, floorq),
                                                      UNARY(ceil, ceilq),
                                                      UNARY(trunc, truncq),
                                                      UNARY(abs, fabsq),
                                                      BINARY(add, a + b),
                                                      BINARY(subtract, a - b),
                                                      BINARY(multiply, a* b),
                                                      BINARY(divide, a / b),
                                                      BINARY(power, powq(a, b)),
                                                      BINARY(atan2, atan2q(a, b)),
                                                      BINARY(hypot, hypotq(a, b)),
                                                      BINARY(fmod, fmodq(a, b)),
                                                      BINARY(copysign, copysignq(a, b))};
#undef UNARY
#undef BINARY

#define OF_C(name, function)                                  \
  {                                                           \
#name, [](const Number* x) { return n(function(c(*x))); } \
  }
#define OURS(name, expression)                                  \
  {                                                             \
#name, [](const Number* x) -> Number { return expression; } \
  }
const std::map<std::string, Oracle> complex_functions = {
    OF_C(sqrt, csqrtq),
    OF_C(exp, cexpq),
    OF_C(log, clogq),
    OF_C(sin, csinq),
    OF_C(cos, ccosq),
    OF_C(tan, ctanq),
    OF_C(asin, casinq),
    OF_C(acos, cacosq),
    OF_C(atan, catanq),
    OF_C(sinh, csinhq),
    OF_C(cosh, ccoshq),
    OF_C(tanh, ctanhq),
    OF_C(asinh, casinhq),
    OF_C(acosh, cacoshq),
    OF_C(atanh, catanhq),
    OURS(log2, scaled(clogq(c(*x)), log_two)),
    OURS(log10, scaled(clogq(c(*x)), log_ten)),
    OURS(log1p, log1p(*x)),
    OURS(expm1, expm1(*x)),
    OURS(exp2, exp2(*x)),
    OURS(abs, (Number{hypotq(x->re, x->im), 0})),
    OURS(sign, sign(*x)),
    OURS(reciprocal, reciprocal(*x)),
    OURS(square, product(*x, *x)),
    OURS(add, (Number{x[0].re + x[1].re, x[0].im + x[1].im})),
    OURS(subtract, (Number{x[0].re - x[1].re, x[0].im - x[1].im})),
    OURS(multiply, product(x[0], x[1])),
    OURS(divide, quotient(x[0], x[1])),
    OURS(power, n(cpowq(c(x[0]), c(x[1]))))};
#undef OF_C
#undef OURS

}  // namespace

Oracle real_oracle(const char* name) { return real_functions.at(name); }
Oracle complex_oracle(const char* name) { return complex_functions.at(name); }

Quad power_growth(const Number* x) {
  const Number exponent = product(x[1], n(clogq(c(x[0]))));
  return 1 + magnitude(x[1]) + magnitude(exponent);
}

Quad magnitude(const Number& x) { return hypotq(x.re, x.im); }
Quad spacing(Quad x, int digits, int least) {
  const int exponent = x == 0 ? least : ilogbq(x);
  return scalbnq(1, (exponent < least ? least : exponent) - digits + 1);
}
bool is_nan(Quad x) { return isnanq(x); }
bool is_infinite(Quad x) { return isinfq(x); }
bool is_negative(Quad x) { return signbitq(x); }
Quad absolute(Quad x) { return fabsq(x); }

}  // namespace quarry::accuracy
