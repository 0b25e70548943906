// SPDX-License-Identifier: BSD-3-Clause
// What the table of NumPy's answers (tests/conformance) does not hold: cancellation, half
// precision, no elements, and how the options are given.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include <Eigen/Core>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;
using C64 = std::complex<float>;
using Half = Eigen::half;

template <class T>
DeviceNDArray<T> row(std::initializer_list<T> list) {
  return to_device(std::vector<T>(list));
}

TEST(Variance, FarFromZero) {
  EXPECT_EQ(var(row<double>({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16})).item(), 22.5);
  EXPECT_EQ(std(row<float>({1e6f - 1, 1e6f + 1})).item(), 1);
  EXPECT_EQ(var(row<C64>({{1e6f - 1, 3}, {1e6f + 1, 3}})).item(), 1);
}

TEST(Variance, TypesOfTheResults) {
  static_assert(std::is_same_v<decltype(var(row<int>({}))), DeviceNDArray<double>>);
  static_assert(std::is_same_v<decltype(std(row<bool>({}))), DeviceNDArray<double>>);
  static_assert(std::is_same_v<decltype(var(row<float>({}))), DeviceNDArray<float>>);
  static_assert(std::is_same_v<decltype(std(row<Half>({}))), DeviceNDArray<Half>>);
  static_assert(std::is_same_v<decltype(std(row<C64>({}))), DeviceNDArray<float>>);
}

TEST(Variance, HalfPrecisionIsComputedInFloat) {
  const auto x = row<Half>({Half(300), Half(-300)});  // the square is no half
  EXPECT_EQ(float(std(x).item()), 300);
  EXPECT_TRUE(std::isinf(float(var(x).item())));
  EXPECT_EQ(float(var(row<Half>({Half(2048), Half(2050)})).item()), 1);
}

TEST(Variance, DegreesOfFreedom) {
  const auto x = row<double>({1, 2, 3, 6});
  EXPECT_EQ(var(x).item(), 3.5);
  EXPECT_EQ(var(x, {.ddof = 0.5}).item(), 4);
  EXPECT_EQ(x.var({.ddof = 2}).item(), 7);  // options, not the axis 2
  EXPECT_EQ(x.std(0, {.ddof = -10}).item(), 1);
  EXPECT_EQ(var(x, {.ddof = 4}).item(), INFINITY);
  EXPECT_EQ(var(x, {.ddof = 5}).item(), INFINITY);
  EXPECT_TRUE(std::isnan(var(row<double>({3}), {.ddof = 1}).item()));
}

TEST(Variance, Axes) {
  const auto x = arange<float>(24).reshape({2, 3, 4});
  EXPECT_EQ(x.var({0, 2}).shape(), (Shape{3}));
  EXPECT_EQ(x.std({1}, {.ddof = 1, .keepdims = true}).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(x.var({.keepdims = true}).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(values(std(x, 0)), (std::vector<float>(12, 6)));
  EXPECT_EQ(values(var(x, Axes{})), (std::vector<float>(24, 0)));
  EXPECT_EQ(values(x.T().var(-1)), values(var(x, 0).T()));
  EXPECT_THROW(var(x, 3), ShapeError);
  EXPECT_THROW(std(x, {0, 0}), ShapeError);
}

TEST(Variance, IsOneKernel) {
  const auto x = row<double>({1, 2, 3, 6});
  fake::reset_statistics();
  const auto s = std(x, {.ddof = 0.5});
  if (test::kind() == test::Kind::fake) {
    EXPECT_EQ(fake::statistics().launches, 1);
  }
  EXPECT_EQ(s.item(), 2);
}

TEST(Variance, OfAnExpression) {
  const auto x = row<double>({1, 2, 3, 6});
  EXPECT_EQ(var(x * 2. + 5.).item(), 14);
  EXPECT_EQ((x > 2.).var().item(), 0.25);
}

TEST(Variance, WithoutElements) {
  EXPECT_TRUE(std::isnan(var(zeros<float>({0})).item()));
  const auto none = std(zeros<float>({0, 3}), 0);
  ASSERT_EQ(none.shape(), (Shape{3}));
  for (const float value : values(none)) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(var(zeros<float>({0, 3}), 1).shape(), (Shape{0}));
}

TEST(Rounding, IntegersHavePlacesToTheLeftOnly) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(values(eval(round(row<std::int64_t>({most, -most}), 3))),
            (std::vector<std::int64_t>{most, -most}));
  EXPECT_EQ(values(eval(round(row<int>({15, 25, -35, 149}), -1))),
            (std::vector<int>{20, 20, -40, 150}));
  EXPECT_EQ(values(eval(round(row<std::int8_t>({127, -128}), -1))),
            (std::vector<std::int8_t>{127, -128}));  // 130 and -130, converted
}

TEST(Rounding, PlacesBeyondTheRange) {
  const auto x = row<double>({1.25, -1.25});
  EXPECT_EQ(values(eval(round(x, 300))), values(x));
  for (const int places : {400, -400, std::numeric_limits<int>::min()}) {
    for (const double value : values(eval(around(x, places)))) {
      EXPECT_TRUE(std::isnan(value)) << places;
    }
  }
}

}  // namespace
}  // namespace quarry
