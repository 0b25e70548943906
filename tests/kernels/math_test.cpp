// SPDX-License-Identifier: BSD-3-Clause
// What the operations compute on real numbers: every pair of 8-bit integers, the ends of the wider
// types, NumPy's rules for NaN and for the sign of zero.
#include <gtest/gtest.h>
#include <quarry/kernels/functor.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace quarry::kernels {
namespace {

const double nan = std::nan("");
const double inf = std::numeric_limits<double>::infinity();

int floor_quotient(int x, int y) {
  return y == 0 ? 0 : static_cast<int>(std::floor(double(x) / y));
}
int floor_rest(int x, int y) { return y == 0 ? 0 : x - y * floor_quotient(x, y); }
int shifted_right(int x, int y, bool inside) { return inside ? x >> y : (x < 0 ? -1 : 0); }

template <class T>
T wrapped_power(T x, int y) {
  if (y < 0) return x == T(1) ? T(1) : (x == T(-1) ? T(y % 2 == 0 ? 1 : -1) : T(0));
  T result = 1;
  for (int i = 0; i < y; ++i) result = T(int{result} * int{x});
  return result;
}

template <class T>
void expect_pair(int a, int b) {
  const T x = T(a), y = T(b);
  const bool inside = b >= 0 && b < 8;
  ASSERT_EQ(add_op::apply<T>(x, y), T(a + b)) << a << ' ' << b;
  ASSERT_EQ(subtract_op::apply<T>(x, y), T(a - b)) << a << ' ' << b;
  ASSERT_EQ(multiply_op::apply<T>(x, y), T(a * b)) << a << ' ' << b;
  ASSERT_EQ(floor_divide_op::apply<T>(x, y), T(floor_quotient(a, b))) << a << ' ' << b;
  ASSERT_EQ(remainder_op::apply<T>(x, y), T(floor_rest(a, b))) << a << ' ' << b;
  ASSERT_EQ(fmod_op::apply<T>(x, y), T(b == 0 ? 0 : a % b)) << a << ' ' << b;
  ASSERT_EQ(left_shift_op::apply<T>(x, y), T(inside ? a << b : 0)) << a << ' ' << b;
  ASSERT_EQ(right_shift_op::apply<T>(x, y), T(shifted_right(a, b, inside))) << a << ' ' << b;
  ASSERT_EQ(power_op::apply<T>(x, y), wrapped_power(x, b)) << a << ' ' << b;
  ASSERT_EQ(minimum_op::apply<T>(x, y), T(std::min(a, b)));
  ASSERT_EQ(maximum_op::apply<T>(x, y), T(std::max(a, b)));
  ASSERT_EQ(less_op::apply<T>(x, y), a < b);
  ASSERT_EQ(bitwise_xor_op::apply<T>(x, y), T(a ^ b));
}

template <class T>
void expect_all_pairs() {
  const int low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  for (int a = low; a <= high; ++a) {
    for (int b = low; b <= high; ++b) ASSERT_NO_FATAL_FAILURE(expect_pair<T>(a, b));
  }
}
TEST(Int8, AllPairs) { expect_all_pairs<i8>(); }
TEST(Uint8, AllPairs) { expect_all_pairs<u8>(); }

template <class T>
class Signed : public testing::Test {};
using SignedTypes = testing::Types<i8, i16, i32, i64>;
TYPED_TEST_SUITE(Signed, SignedTypes);
TYPED_TEST(Signed, WrapsAtTheEnds) {
  using T = TypeParam;
  const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max(), minus = T(-1),
          one = T(1);
  EXPECT_EQ(add_op::apply<T>(high, one), low);
  EXPECT_EQ(subtract_op::apply<T>(low, one), high);
  EXPECT_EQ(multiply_op::apply<T>(low, minus), low);
  EXPECT_EQ(multiply_op::apply<T>(high, high), one);
  EXPECT_EQ(negative_op::apply<T>(low), low);
  EXPECT_EQ(abs_op::apply<T>(low), low);
  EXPECT_EQ(abs_op::apply<T>(minus), one);
  EXPECT_EQ(square_op::apply<T>(low), 0);
  EXPECT_EQ(floor_divide_op::apply<T>(low, minus), low);
  EXPECT_EQ(remainder_op::apply<T>(low, minus), 0);
  EXPECT_EQ(fmod_op::apply<T>(low, minus), 0);
  EXPECT_EQ(floor_divide_op::apply<T>(low, T(0)), 0);
  EXPECT_EQ(remainder_op::apply<T>(low, T(0)), 0);
  EXPECT_EQ(reciprocal_op::apply<T>(T(0)), 0);
  EXPECT_EQ(reciprocal_op::apply<T>(minus), minus);
  EXPECT_EQ(sign_op::apply<T>(low), minus);
  EXPECT_EQ(right_shift_op::apply<T>(low, T(sizeof(T) * 8)), minus);
  EXPECT_EQ(right_shift_op::apply<T>(low, minus), minus);
  EXPECT_EQ(left_shift_op::apply<T>(one, T(sizeof(T) * 8 - 1)), low);
  EXPECT_EQ(left_shift_op::apply<T>(one, T(sizeof(T) * 8)), 0);
  EXPECT_TRUE(signbit_op::apply<double>(low));
  EXPECT_FALSE(isnan_op::apply<T>(low));
  EXPECT_TRUE(isfinite_op::apply<T>(low));
}

TEST(Unsigned, MultipliesWithoutOverflowOfInt) {
  EXPECT_EQ(multiply_op::apply<u16>(u16{65535}, u16{65535}), 1);
  EXPECT_EQ(power_op::apply<u16>(u16{65535}, u16{2}), 1);
  EXPECT_EQ(power_op::apply<u64>(u64{3}, u64{41}), 18026252303461234787u);
}

TEST(Compare, MixedSignsExactly) {
  const i64 minus = -1;
  const u64 largest = std::numeric_limits<u64>::max(), odd = (u64{1} << 53) + 1;
  EXPECT_TRUE(less_op::apply<double>(minus, largest));
  EXPECT_FALSE(equal_op::apply<double>(minus, largest));
  EXPECT_TRUE(greater_op::apply<double>(u32{0}, minus));
  EXPECT_TRUE(not_equal_op::apply<double>(i64{1} << 53, odd));
  EXPECT_TRUE(less_equal_op::apply<double>(i64{1} << 53, odd));
  EXPECT_TRUE(greater_equal_op::apply<double>(odd, (i64{1} << 53) + 1));
  EXPECT_TRUE(equal_op::apply<double>(odd, (i64{1} << 53) + 1));
}

TEST(Bool, AddsAsOrAndMultipliesAsAnd) {
  EXPECT_TRUE(add_op::apply<bool>(true, true));
  EXPECT_FALSE(multiply_op::apply<bool>(true, false));
  EXPECT_TRUE(maximum_op::apply<bool>(true, false));
  EXPECT_FALSE(minimum_op::apply<bool>(true, false));
  EXPECT_FALSE(invert_op::apply<bool>(true));
  EXPECT_TRUE(logical_xor_op::apply<bool>(0.5, 0));
  EXPECT_FALSE(logical_xor_op::apply<bool>(0.5, 2));
  EXPECT_TRUE(logical_and_op::apply<bool>(nan, 1));
}

template <class T>
class Floating : public testing::Test {
 protected:
  static bool is_nan(T x) { return std::isnan(double(x)); }
  static bool is_minus_zero(T x) { return double(x) == 0 && std::signbit(double(x)); }
};
using FloatingTypes = testing::Types<float16, bfloat16, float, double>;
TYPED_TEST_SUITE(Floating, FloatingTypes);

TYPED_TEST(Floating, NanWinsInMinimumAndLosesInFmin) {
  using T = TypeParam;
  const T n = convert<T>(nan), one = convert<T>(1.0);
  EXPECT_TRUE(this->is_nan(minimum_op::apply<T>(n, one)));
  EXPECT_TRUE(this->is_nan(minimum_op::apply<T>(one, n)));
  EXPECT_TRUE(this->is_nan(maximum_op::apply<T>(n, one)));
  EXPECT_TRUE(this->is_nan(maximum_op::apply<T>(one, n)));
  EXPECT_EQ(fmin_op::apply<T>(n, one), one);
  EXPECT_EQ(fmin_op::apply<T>(one, n), one);
  EXPECT_EQ(fmax_op::apply<T>(n, one), one);
  EXPECT_EQ(fmax_op::apply<T>(one, n), one);
  EXPECT_TRUE(this->is_nan(fmax_op::apply<T>(n, n)));
  EXPECT_TRUE(this->is_nan(clip_op::apply<T>(n, one, one)));
}

TYPED_TEST(Floating, SignAndPredicates) {
  using T = TypeParam;
  const T n = convert<T>(nan), minus = convert<T>(-2.0), top = limits<T>::highest();
  EXPECT_TRUE(this->is_nan(sign_op::apply<T>(n)));
  EXPECT_EQ(double(sign_op::apply<T>(minus)), -1);
  EXPECT_EQ(double(abs_op::apply<T>(minus)), 2);
  EXPECT_TRUE(this->is_minus_zero(negative_op::apply<T>(convert<T>(0.0))));
  EXPECT_TRUE(isnan_op::apply<T>(n));
  EXPECT_TRUE(isinf_op::apply<T>(top));
  EXPECT_TRUE(isinf_op::apply<T>(limits<T>::lowest()));
  EXPECT_FALSE(isfinite_op::apply<T>(top));
  EXPECT_FALSE(isfinite_op::apply<T>(n));
  EXPECT_TRUE(isfinite_op::apply<T>(minus));
  EXPECT_TRUE(signbit_op::apply<T>(convert<T>(-0.0)));
  EXPECT_FALSE(signbit_op::apply<T>(top));
}

TYPED_TEST(Floating, DividesAsPython) {
  using T = TypeParam;
  const auto quotient = [](double x, double y) {
    return floor_divide_op::apply<T>(convert<T>(x), convert<T>(y));
  };
  const auto rest = [](double x, double y) {
    return remainder_op::apply<T>(convert<T>(x), convert<T>(y));
  };
  EXPECT_EQ(double(quotient(7, 2)), 3);
  EXPECT_EQ(double(quotient(-7, 2)), -4);
  EXPECT_EQ(double(rest(-7, 2)), 1);
  EXPECT_EQ(double(rest(7, -2)), -1);
  EXPECT_EQ(double(fmod_op::apply<T>(convert<T>(-7.0), convert<T>(2.0))), -1);
  EXPECT_EQ(double(quotient(1, 0)), inf);
  EXPECT_EQ(double(quotient(-1, 0)), -inf);
  EXPECT_TRUE(this->is_nan(quotient(0, 0)));
  EXPECT_TRUE(this->is_nan(rest(1, 0)));
  EXPECT_TRUE(this->is_nan(quotient(inf, 1)));
  EXPECT_EQ(double(quotient(-1, inf)), -1);
  EXPECT_EQ(double(rest(-1, inf)), inf);
  EXPECT_EQ(double(rest(1, inf)), 1);
  EXPECT_TRUE(this->is_minus_zero(rest(4, -2)));
  EXPECT_TRUE(this->is_minus_zero(quotient(-0.0, 2)));
}

TEST(Math, IsThatOfTheLibrary) {
  EXPECT_EQ(exp_op::apply<float>(1.5f), std::exp(1.5f));
  EXPECT_EQ(sin_op::apply<double>(1.5), std::sin(1.5));
  EXPECT_EQ(hypot_op::apply<double>(3, 4.f), 5);
  EXPECT_EQ(static_cast<float>(sqrt_op::apply<float16>(float16(2.f))),
            float(float16(std::sqrt(2.f))));
  EXPECT_EQ(rint_op::apply<float>(2.5f), 2);
  EXPECT_EQ(rint_op::apply<double>(-3.5), -4);
  EXPECT_EQ(floor_op::apply<i64>(std::numeric_limits<i64>::max()), std::numeric_limits<i64>::max());
  EXPECT_EQ(divide_op::apply<double>(1, 4), 0.25);
}

TEST(Where, TakesTheConditionAsATruthValue) {
  EXPECT_EQ(where_op::apply<double>(0.5, 1, 2.5f), 1);
  EXPECT_EQ(where_op::apply<double>(u64{0}, 1, 2.5f), 2.5);
}

TEST(Clip, GivesTheUpperBoundWhereBoundsCross) {
  EXPECT_EQ(clip_op::apply<int>(5, 0, 3), 3);
  EXPECT_EQ(clip_op::apply<int>(-5, 0, 3), 0);
  EXPECT_EQ(clip_op::apply<int>(1, 4, 2), 2);
}

}  // namespace
}  // namespace quarry::kernels
