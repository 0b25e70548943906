// SPDX-License-Identifier: BSD-3-Clause
// Complex operations against the C library's, on a grid that has both sides of every branch cut,
// and against NumPy's rules where these differ.
#include <gtest/gtest.h>
#include <quarry/kernels/functor.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace quarry::kernels {
namespace {

template <class T>
using Std = std::complex<T>;

template <class T>
Std<T> standard(complex<T> z) {
  return {z.re, z.im};
}
template <class T>
complex<T> ours(Std<T> z) {
  return {z.real(), z.imag()};
}

/// Distance in units of the last place of the absolute value.
template <class T>
double error(Std<T> got, Std<T> want) {
  if (std::isnan(std::abs(got)) || std::isinf(std::abs(got)) || std::isinf(std::abs(want))) {
    return got == want ? 0 : std::numeric_limits<double>::infinity();
  }
  return double(std::abs(got - want) / std::max(std::abs(want), std::numeric_limits<T>::min())) /
         double(std::numeric_limits<T>::epsilon());
}

template <class T>
bool same_side(T got, T want) {
  return (want != 0 && std::abs(want) < T(1e-12)) || std::signbit(got) == std::signbit(want);
}

template <class T, std::size_t N>
std::vector<Std<T>> signed_pairs(const T (&values)[N]) {
  std::vector<Std<T>> points;
  for (const T x : values) {
    for (const T y : values) {
      for (const T sx : {T(1), T(-1)}) {
        for (const T sy : {T(1), T(-1)})
          points.emplace_back(std::copysign(x, sx), std::copysign(y, sy));
      }
    }
  }
  return points;
}

template <class T>
std::vector<Std<T>> grid() {
  const T values[] = {T(0),    T(1e-7), T(0.001), T(0.25), T(0.5), T(0.9375), T(1),
                      T(1.25), T(2),    T(3.5),   T(10),   T(60),  T(1e6)};
  return signed_pairs<T>(values);
}

template <class Operation, class T>
void expect_as(Std<T> (*want_of)(const Std<T>&), double tolerance) {
  for (const Std<T> z : grid<T>()) {
    const Std<T> got = standard(Operation::template apply<complex<T>>(ours(z))), want = want_of(z);
    if (!std::isfinite(std::abs(want))) continue;
    EXPECT_LE(error(got, want), tolerance)
        << Operation::name << z << " got " << got << " want " << want;
    EXPECT_TRUE(same_side(got.real(), want.real()) && same_side(got.imag(), want.imag()))
        << Operation::name << z << " got " << got << " want " << want;
  }
}

/// A NaN for a NaN, an infinity or a zero of the same sign. Annex G leaves signs open beside a NaN,
/// and where both parts of the operand are special.
template <class T>
bool same_part(T got, T want, bool sign_counts) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (sign_counts && std::signbit(got) != std::signbit(want)) return false;
  const T a = std::abs(got), b = std::abs(want), least = std::numeric_limits<T>::denorm_min();
  return a == b || std::abs(a - b) <= 32 * std::numeric_limits<T>::epsilon() * b + 2 * least;
}

template <class Operation, class T>
void expect_special_values_as(Std<T> (*want_of)(const Std<T>&)) {
  using Limits = std::numeric_limits<T>;
  const T values[] = {
      T(0),          Limits::denorm_min(), Limits::min(),      T(0.7), T(1), T(50), T(700),
      Limits::max(), Limits::infinity(),   Limits::quiet_NaN()};
  for (const Std<T> z : signed_pairs<T>(values)) {
    const auto finite = [](T part) { return std::isfinite(part); };
    const bool both = !finite(z.real()) && !finite(z.imag());
    const Std<T> want = want_of(z);
    const bool sign_counts = !both && !std::isnan(z.real()) && !std::isnan(z.imag()) &&
                             !std::isnan(want.real()) && !std::isnan(want.imag());
    const Std<T> got = standard(Operation::template apply<complex<T>>(ours(z)));
    EXPECT_TRUE(same_part(got.real(), want.real(), sign_counts) &&
                same_part(got.imag(), want.imag(), sign_counts))
        << Operation::name << z << " got " << got << " want " << want;
  }
}

template <class T>
class Complex : public testing::Test {};
using Parts = testing::Types<float, double>;
TYPED_TEST_SUITE(Complex, Parts);

TYPED_TEST(Complex, FunctionsAreThoseOfTheLibrary) {
  using T = TypeParam;
  expect_as<sqrt_op, T>(std::sqrt, 4);
  expect_as<exp_op, T>(std::exp, 4);
  expect_as<log_op, T>(std::log, 4);
  expect_as<log10_op, T>(std::log10, 4);
  expect_as<sin_op, T>(std::sin, 8);
  expect_as<cos_op, T>(std::cos, 8);
  expect_as<tan_op, T>(std::tan, 8);
  expect_as<sinh_op, T>(std::sinh, 8);
  expect_as<cosh_op, T>(std::cosh, 8);
  expect_as<tanh_op, T>(std::tanh, 8);
  expect_as<asin_op, T>(std::asin, 8);
  expect_as<acos_op, T>(std::acos, 8);
  expect_as<atan_op, T>(std::atan, 8);
  expect_as<asinh_op, T>(std::asinh, 8);
  expect_as<acosh_op, T>(std::acosh, 8);
  expect_as<atanh_op, T>(std::atanh, 8);
}

TYPED_TEST(Complex, SpecialValuesAreThoseOfAnnexG) {
  using T = TypeParam;
  expect_special_values_as<sqrt_op, T>(std::sqrt);
  expect_special_values_as<exp_op, T>(std::exp);
  expect_special_values_as<log_op, T>(std::log);
  expect_special_values_as<sin_op, T>(std::sin);
  expect_special_values_as<cos_op, T>(std::cos);
  expect_special_values_as<tan_op, T>(std::tan);
  expect_special_values_as<sinh_op, T>(std::sinh);
  expect_special_values_as<cosh_op, T>(std::cosh);
  expect_special_values_as<tanh_op, T>(std::tanh);
  expect_special_values_as<asin_op, T>(std::asin);
  expect_special_values_as<acos_op, T>(std::acos);
  expect_special_values_as<atan_op, T>(std::atan);
  expect_special_values_as<asinh_op, T>(std::asinh);
  expect_special_values_as<acosh_op, T>(std::acosh);
  expect_special_values_as<atanh_op, T>(std::atanh);
}

TYPED_TEST(Complex, ShiftedAndScaledExponentials) {
  using T = TypeParam;
  for (const Std<T> z :
       {Std<T>(T(0.5), T(0.25)), Std<T>(T(1e-4), T(1e-4)), Std<T>(T(-0.75), T(2))}) {
    const complex<T> x = ours(z);
    EXPECT_LE(error(standard(exp2_op::apply<complex<T>>(x)), std::pow(Std<T>(2), z)), 8);
    EXPECT_LE(error(standard(log2_op::apply<complex<T>>(x)), std::log(z) / std::log(T(2))), 8);
    const Std<long double> wide(z), one(1);
    EXPECT_LE(error(standard(expm1_op::apply<complex<T>>(x)), Std<T>(std::exp(wide) - one)), 4);
    EXPECT_LE(error(standard(log1p_op::apply<complex<T>>(x)), Std<T>(std::log(one + wide))), 4);
  }
}

TYPED_TEST(Complex, Arithmetic) {
  using T = TypeParam;
  for (const Std<T> a : grid<T>()) {
    const Std<T> b(T(1.5), T(-0.75));
    const complex<T> x = ours(a), y = ours(b);
    EXPECT_EQ(standard(add_op::apply<complex<T>>(x, y)), a + b);
    EXPECT_EQ(standard(subtract_op::apply<complex<T>>(x, y)), a - b);
    EXPECT_LE(error(standard(multiply_op::apply<complex<T>>(x, y)), a * b), 4);
    EXPECT_LE(error(standard(square_op::apply<complex<T>>(x)), a * a), 4);
    EXPECT_LE(error(standard(divide_op::apply<complex<T>>(x, y)), a / b), 4);
    EXPECT_LE(error(standard(divide_op::apply<complex<T>>(y, y)), Std<T>(1)), 4);
    EXPECT_EQ(abs_op::apply<complex<T>>(x), std::abs(a));
    EXPECT_EQ(standard(conj_op::apply<complex<T>>(x)), std::conj(a));
  }
}

TYPED_TEST(Complex, Power) {
  using T = TypeParam;
  using C = complex<T>;
  const T tiny = std::numeric_limits<T>::epsilon();
  for (const Std<T> b :
       {Std<T>(2), Std<T>(-3), Std<T>(T(0.5)), Std<T>(T(1.5), T(-0.5)), Std<T>(0, 1)}) {
    for (const Std<T> a :
         {Std<T>(1, 2), Std<T>(T(-0.5), T(0.25)), Std<T>(-2, 0), Std<T>(-2, T(-0.0))}) {
      const Std<T> got = standard(power_op::apply<C>(ours(a), ours(b))), want = std::pow(a, b);
      EXPECT_LE(error(got, want), 32) << a << b << tiny;
    }
  }
  const C zero{0, 0}, one{1, 0};
  EXPECT_TRUE((power_op::apply<C>(zero, zero) == one));
  EXPECT_TRUE((power_op::apply<C>(zero, C{2, 1}) == zero));
  EXPECT_TRUE(isnan_op::apply<C>(power_op::apply<C>(zero, C{-1, 0})));
}

// Here |z| - 1 is all that log |z| consists of.
TYPED_TEST(Complex, LogarithmsOfTheUnitCircle) {
  using T = TypeParam;
  using Wide = std::complex<long double>;
  for (int i = 1; i < 4000; ++i) {
    const T angle = T(i) / 1000;
    const Std<T> z(std::cos(angle), std::sin(angle));
    const long double want = std::log(Wide(z)).real();
    const long double got[] = {log_op::apply<complex<T>>(ours(z)).re,
                               log2_op::apply<complex<T>>(ours(z)).re * std::log(2.0L),
                               log10_op::apply<complex<T>>(ours(z)).re * std::log(10.0L),
                               log1p_op::apply<complex<T>>(ours(z - T(1))).re};
    const long double bound = 8 * std::numeric_limits<T>::epsilon() * std::abs(want);
    for (int f = 0; f < 3; ++f) EXPECT_LE(std::abs(got[f] - want), bound) << z << ' ' << f;
    const long double shifted = std::log(Wide(z - T(1)) + Wide(1)).real();
    EXPECT_LE(std::abs(got[3] - shifted),
              8 * std::numeric_limits<T>::epsilon() * std::abs(shifted) +
                  4 * std::numeric_limits<long double>::epsilon());
  }
}

TYPED_TEST(Complex, QuotientsAtTheEndsOfTheRange) {
  using T = TypeParam;
  using C = complex<T>;
  const T top = std::numeric_limits<T>::max(), bottom = std::numeric_limits<T>::denorm_min();
  for (const T size : {top, top / 2, std::numeric_limits<T>::min(), bottom, 3 * bottom}) {
    EXPECT_EQ(standard(divide_op::apply<C>(C{size, size}, C{size, size})), Std<T>(1));
    EXPECT_EQ(standard(divide_op::apply<C>(C{size, 0}, C{0, size})), Std<T>(0, -1));
    EXPECT_LE(error(standard(sign_op::apply<C>(C{size, -size})),
                    Std<T>(std::sqrt(T(0.5)), -std::sqrt(T(0.5)))),
              4);
  }
  EXPECT_EQ(standard(divide_op::apply<C>(C{6 * bottom, 0}, C{T(0.5), 0})), Std<T>(12 * bottom));
  EXPECT_EQ(standard(divide_op::apply<C>(C{top, 0}, C{2, 0})), Std<T>(top / 2));
  EXPECT_EQ(standard(reciprocal_op::apply<C>(C{top, 0})), Std<T>(1 / top));
}

TYPED_TEST(Complex, LargestNumbersDoNotOverflow) {
  using T = TypeParam;
  using C = complex<T>;
  const T top = std::numeric_limits<T>::max(), bottom = std::numeric_limits<T>::denorm_min();
  EXPECT_LE(error(standard(sqrt_op::apply<C>(C{top, top})), std::sqrt(Std<T>(top, top))), 4);
  EXPECT_LE(error(standard(sqrt_op::apply<C>(C{bottom, 0})), Std<T>(std::sqrt(bottom))), 4);
  EXPECT_LE(error(standard(log_op::apply<C>(C{top, top})), std::log(Std<T>(top, top))), 4);
  EXPECT_EQ((atanh_op::apply<C>(C{top, 1}).im), std::acos(T(0)));
}

TEST(ComplexOrder, IsLexicographicAndFalseForNan) {
  using C = complex<double>;
  const double nan = std::nan("");
  EXPECT_TRUE(less_op::apply<C>(C{1, 5}, C{2, 0}));
  EXPECT_TRUE(less_op::apply<C>(C{1, 0}, C{1, 5}));
  EXPECT_TRUE(less_equal_op::apply<C>(C{1, 5}, C{1, 5}));
  EXPECT_TRUE(greater_op::apply<C>(C{3, 0}, C{1, 5}));
  EXPECT_FALSE(less_op::apply<C>(C{1, nan}, C{2, 0}));
  EXPECT_FALSE(greater_equal_op::apply<C>(C{nan, 0}, C{2, 0}));
  EXPECT_FALSE(equal_op::apply<C>(C{nan, 0}, C{nan, 0}));
  EXPECT_TRUE(not_equal_op::apply<C>(C{1, 0}, C{1, 2}));
}

TEST(ComplexMinimum, PropagatesNanOfEitherPart) {
  using C = complex<float>;
  const float nan = std::nanf("");
  const C a{1, nan}, b{0, 0};
  EXPECT_TRUE(isnan_op::apply<C>(minimum_op::apply<C>(a, b)));
  EXPECT_TRUE(isnan_op::apply<C>(minimum_op::apply<C>(b, a)));
  EXPECT_TRUE(isnan_op::apply<C>(maximum_op::apply<C>(C{nan, 0}, b)));
  EXPECT_TRUE((fmin_op::apply<C>(a, b) == b));
  EXPECT_TRUE((fmax_op::apply<C>(b, a) == b));
  EXPECT_TRUE((maximum_op::apply<C>(C{1, 2}, C{1, 3}) == C{1, 3}));
}

TEST(ComplexSign, IsTheDirection) {
  using C = complex<double>;
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE((sign_op::apply<C>(C{3, -4}) == C{0.6, -0.8}));
  EXPECT_TRUE((sign_op::apply<C>(C{0, 0}) == C{0, 0}));
  EXPECT_TRUE((sign_op::apply<C>(C{-inf, 2}) == C{-1, 0}));
  EXPECT_TRUE(isnan_op::apply<C>(sign_op::apply<C>(C{inf, inf})));
  EXPECT_TRUE(isnan_op::apply<C>(sign_op::apply<C>(C{std::nan(""), 0})));
}

}  // namespace
}  // namespace quarry::kernels
