// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace quarry {
namespace {

using test::values;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

/// NumPy's definition, one element.
bool close(double a, double b, const ClosenessOptions& options) {
  if (std::isnan(a) || std::isnan(b)) return options.equal_nan && std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= options.atol + options.rtol * std::abs(b);
}

TEST(Closeness, IscloseIsNumPysDefinition) {
  const std::vector<double> numbers{0,   1e-9, 1,         1.000001, 1.1,       -1,
                                    1e8, 1e12, 1e12 + 10, infinity, -infinity, nan};
  const auto n = static_cast<std::int64_t>(numbers.size());
  const auto x = to_device(numbers);
  for (const ClosenessOptions& options :
       {ClosenessOptions{}, ClosenessOptions{.rtol = 0.2, .atol = 0},
        ClosenessOptions{.rtol = 0, .atol = 0.2, .equal_nan = true}}) {
    const auto result = values(eval(isclose(x.reshape({n, 1}), x, options)));
    std::size_t k = 0;
    for (const double a : numbers) {
      for (const double b : numbers) {
        EXPECT_EQ(bool(result[k]), close(a, b, options)) << a << ' ' << b;
        ++k;
      }
    }
  }
}

TEST(Closeness, TypesMeetAndIntegersAreMeasuredInFloat64) {
  const auto i = to_device({100000, 200000});
  EXPECT_TRUE(allclose(i, i + 1));
  EXPECT_FALSE(allclose(i, i + 1, {.rtol = 1e-9}));
  EXPECT_TRUE(
      allclose(to_device<std::uint8_t>(std::vector<std::uint8_t>{0, 255}), to_device({0, 255})));
  EXPECT_FALSE(allclose(to_device<std::uint8_t>(std::vector<std::uint8_t>{0}), to_device({1})));
  EXPECT_TRUE(allclose(to_device({1.f, 1.f}), 1));
  EXPECT_TRUE(allclose(1.0, to_device({1.f, 1.f})));
  const auto z = to_device(std::vector<std::complex<float>>{{3, 4}, {0, 1}});
  EXPECT_TRUE(allclose(z, z * 1.000001f));
  EXPECT_FALSE(allclose(z, conj(z)));
  EXPECT_TRUE(allclose(zeros<double>({0}), 1.0));
}

TEST(Closeness, AllcloseBroadcastsAndSaysWhereItCannot) {
  const auto a = ones<double>({3, 4});
  EXPECT_TRUE(allclose(a, ones<double>({4})));
  EXPECT_THROW(allclose(a, ones<double>({3})), ShapeError);
}

TEST(Closeness, ArrayEqualComparesShapesAndElements) {
  const auto a = to_device({1, 2, 3});
  EXPECT_TRUE(array_equal(a, a * 1));
  EXPECT_TRUE(array_equal(a, to_device({1., 2., 3.})));
  EXPECT_FALSE(array_equal(a, to_device({1, 2, 4})));
  EXPECT_FALSE(array_equal(a, to_device({1, 2})));
  EXPECT_FALSE(array_equal(ones<int>({3}), ones<int>({1})));  // no broadcasting
  EXPECT_TRUE(array_equal(zeros<int>({0}), zeros<int>({0})));
  const auto x = to_device({1., nan});
  EXPECT_FALSE(array_equal(x, x));
  EXPECT_TRUE(array_equal(x, x, {.equal_nan = true}));
  EXPECT_FALSE(array_equal(x, to_device({1., 2.}), {.equal_nan = true}));
}

}  // namespace
}  // namespace quarry
