// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::Random;
using test::values;

TEST(Several, ExpressionsShareOneKernel) {
  const auto a = to_device({1.f, 2.f, 4.f}), b = to_device({8.f, 16.f, 32.f});
  fake::reset_statistics();
  const auto [sum, difference, ratio] = eval(a + b, a - b, b / a);
  if (test::kind() == test::Kind::fake) {
    EXPECT_EQ(fake::statistics().launches, 1);
    EXPECT_EQ(fake::statistics().copies, 0);
  }
  EXPECT_EQ(values(sum), (std::vector{9.f, 18.f, 36.f}));
  EXPECT_EQ(values(difference), (std::vector{-7.f, -14.f, -28.f}));
  EXPECT_EQ(values(ratio), (std::vector{8.f, 8.f, 8.f}));
}

TEST(Several, EveryResultHasTheTypeOfItsExpression) {
  const auto i = to_device<std::int8_t>({1, -2, 3});
  const auto x = to_device({0.5, 4.0, 9.0});
  auto [tests, roots, wide, copy] = eval(i > 0, sqrt(x) * 2., i + x, i);
  static_assert(std::same_as<decltype(tests), DeviceNDArray<bool>>);
  static_assert(std::same_as<decltype(roots), DeviceNDArray<double>>);
  static_assert(std::same_as<decltype(wide), DeviceNDArray<double>>);
  static_assert(std::same_as<decltype(copy), DeviceNDArray<std::int8_t>>);
  EXPECT_EQ(values(tests), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(values(roots), (std::vector{std::sqrt(0.5) * 2, 4.0, 6.0}));
  EXPECT_EQ(values(wide), (std::vector{1.5, 2.0, 12.0}));
  copy.fill(7);
  EXPECT_EQ(values(i), (std::vector<std::int8_t>{1, -2, 3}));  // an array among them is copied
}

/// The oracle is the same expressions, one by one.
TEST(Several, AnyLayoutGivesWhatTheExpressionsGiveAlone) {
  Random random(5);
  const auto a = arange<int>(5 * 6 * 70).reshape({5, 6, 70});
  const auto row = arange<float>(70);
  const auto column = arange<double>(6).reshape({6, 1});
  for (int round = 0; round < 30; ++round) {
    const Range r = random.range(5), s = random.range(6), t = random.range(70);
    const auto sum = (a + row)(r, s, t);
    const auto product = (a * column)(r, s, t);
    const auto swapped = (column - a)(r, s, t);
    const auto [x, y, z] = eval(sum, product, swapped);
    EXPECT_EQ(x.shape(), sum.shape());
    EXPECT_EQ(values(x), values(eval(sum)));
    EXPECT_EQ(values(y), values(eval(product)));
    EXPECT_EQ(values(z), values(eval(swapped)));
  }
}

TEST(Several, NothingRunsWithoutElements) {
  const auto none = zeros<float>({0, 3});
  const auto [a, b] = eval(none + 1.f, none * 2.f);
  EXPECT_EQ(a.shape(), (Shape{0, 3}));
  EXPECT_EQ(b.size(), 0);
}

TEST(Several, OneShapeForAll) {
  const auto a = ones<float>({3, 4}), b = ones<float>({4});
  try {
    eval(a + 1.f, b + 1.f);
    ADD_FAILURE() << "evaluated";
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("(3, 4) and (4,)"), std::string::npos) << e.what();
  }
}

TEST(Several, ResultsAreInTheStreamOfTheFirstArray) {
  const Stream s = stream();
  const auto a = full<float>({1000}, 1, {.stream = s}), b = full<float>({1000}, 2, {.stream = s});
  const auto [x, y] = eval(a + b, a * b);
  EXPECT_EQ(x.stream(), s);
  EXPECT_EQ(y.stream(), s);
  EXPECT_EQ(values(x), std::vector<float>(1000, 3));
}

}  // namespace
}  // namespace quarry
