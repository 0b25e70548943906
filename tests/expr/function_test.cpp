// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace user {

QUARRY_FUNCTION(saxpy, (auto a, auto x, auto y), a* x + y);
QUARRY_FUNCTION(wave, (auto x), sin(x) * exp(-x * x));
QUARRY_FUNCTION(halves, (auto n), n / 2);
QUARRY_FUNCTION(inside, (auto x, auto low, auto high), x >= low && x <= high);

}  // namespace user

namespace quarry {
namespace {

using test::values;

TEST(Function, ComputesElementwiseWithScalars) {
  const auto x = to_device({1.f, 2.f, 3.f}), y = to_device({10.f, 20.f, 30.f});
  EXPECT_EQ(values(eval(user::saxpy(2.f, x, y))), (std::vector{12.f, 24.f, 36.f}));
}

TEST(Function, JoinsTheFusion) {
  const auto x = to_device({0.0, 0.5, 1.0});
  fake::reset_statistics();
  const DeviceNDArray<double> y = 3.0 * user::wave(x + 0.25) + 1.0;
  if (test::kind() == test::Kind::fake) {
    EXPECT_EQ(fake::statistics().launches, 1);
    EXPECT_EQ(fake::statistics().copies, 0);
  }
  const auto got = values(y);
  for (int i = 0; i < 3; ++i) {
    const double v = 0.5 * i + 0.25;
    EXPECT_NEAR(got[static_cast<std::size_t>(i)], 3 * std::sin(v) * std::exp(-v * v) + 1, 1e-15);
  }
  EXPECT_NEAR(sum(user::wave(x)).item(),
              std::sin(0.5) * std::exp(-0.25) + std::sin(1.0) * std::exp(-1.0), 1e-15);
}

TEST(Function, HasTheTypesOfCpp) {
  const auto n = to_device({3, 4, -3});
  const auto e = user::halves(n);
  static_assert(std::is_same_v<decltype(e)::value_type, int>);
  EXPECT_EQ(values(eval(e)), (std::vector{1, 2, -1}));
  const auto b = user::inside(n, 0, 3);
  static_assert(std::is_same_v<decltype(b)::value_type, bool>);
  EXPECT_EQ(values(eval(b)), (std::vector<bool>{true, false, false}));
}

TEST(Function, BroadcastsAndTakesViews) {
  const auto x = to_device(test::counted<double>({2, 3})), y = to_device({1.0, 2.0, 3.0});
  const auto got = values(eval(user::saxpy(x(range(_, _, -1)), y, x)));
  EXPECT_EQ(got, (std::vector{3.0, 9.0, 17.0, 3.0, 6.0, 11.0}));
  EXPECT_THROW(user::saxpy(x, to_device({1.0, 2.0}), x), ShapeError);
}

}  // namespace
}  // namespace quarry
