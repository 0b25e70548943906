// SPDX-License-Identifier: BSD-3-Clause
// The short functions of GPUs, compiled for the host, which divides exactly: the accuracy of what
// they compute, for which arguments they are, and that sines have the bits of the CPU's.
#include <gtest/gtest.h>
#include <quarry/kernels/gpu_functions.hpp>
#include <quarry/kernels/vector_functions.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace quarry::kernels::gpu {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// The error in units of the last place of the exact result.
double error(float got, double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(got - exact) / std::ldexp(1., std::max(exponent - 24, -149));
}

/// Numbers of any sign, with exponents from -`range` to `range`.
class Numbers {
 public:
  explicit Numbers(int range) : exponent_(-range, range) {}
  float draw() {
    return std::ldexp(fraction_(random_), exponent_(random_)) * (random_() % 2 == 0 ? 1.f : -1.f);
  }

 private:
  std::mt19937 random_{1};
  std::uniform_real_distribution<float> fraction_{1, 2};
  std::uniform_int_distribution<int> exponent_;
};
constexpr int draws = 300000;

TEST(GpuFunctions, SinesHaveTheBitsOfTheCpu) {
  std::vector<float> arguments{0.f, -0.f, 1e-45f, -1e-45f, 500000.f, -500000.f};
  Numbers numbers(18);
  for (int i = 0; i < draws; ++i) arguments.push_back(numbers.draw());
  for (const float x : arguments) {
    if (!sin_of::has(x)) continue;
    ASSERT_EQ(bits_as<u32>(sin_of::usual(x)), bits_as<u32>(quarry_sinf(x))) << x;
    ASSERT_EQ(bits_as<u32>(cos_of::usual(x)), bits_as<u32>(quarry_cosf(x))) << x;
  }
}
TEST(GpuFunctions, SinesAreOfArgumentsUpToHalfAMillion) {
  for (const float x : {500000.f, -500000.f, 0.f, 1e-45f}) {
    EXPECT_TRUE(sin_of::has(x) && cos_of::has(x)) << x;
  }
  for (const float x : {500000.0625f, -500000.0625f, 1e30f, inf, -inf, nan}) {
    EXPECT_FALSE(sin_of::has(x) || cos_of::has(x)) << x;
  }
}

TEST(GpuFunctions, AnglesHaveErrorsOfAFewUlp) {
  for (const int range : {2, 60, 120}) {
    Numbers numbers(range);
    for (int i = 0; i < draws; ++i) {
      const float y = numbers.draw(), x = numbers.draw();
      if (!atan2_of::has(y, x)) continue;
      ASSERT_LT(error(atan2_of::usual(y, x), std::atan2(double{y}, double{x})), 2.5)
          << y << ' ' << x;
    }
  }
}
TEST(GpuFunctions, AnglesOfZerosAndSubnormalNumbersHaveTheirSigns) {
  for (const float small : {0.f, 1e-45f, 3e-39f}) {
    for (const float y : {small, -small, 1.5f, -1.5f}) {
      for (const float x : {small, -small, 1.5f, -1.5f}) {
        if (!atan2_of::has(y, x)) continue;
        const float got = atan2_of::usual(y, x);
        EXPECT_LT(error(got, std::atan2(double{y}, double{x})), 2.5) << y << ' ' << x;
        EXPECT_EQ(std::signbit(got), std::signbit(y)) << y << ' ' << x;
      }
    }
  }
}
TEST(GpuFunctions, AnglesNeedOneOrdinaryNumber) {
  EXPECT_TRUE(atan2_of::has(0x1p-100f, 0) && atan2_of::has(0, -0x1p-100f));
  EXPECT_TRUE(atan2_of::has(0x1p100f, 1) && atan2_of::has(1, -0x1p100f));
  for (const float other : {0.f, 0x1p-101f, inf, -inf, nan, 0x1.000002p100f}) {
    EXPECT_FALSE(atan2_of::has(other, 0)) << other;
    EXPECT_FALSE(atan2_of::has(0, other)) << other;
  }
  for (const float y : {inf, -inf}) EXPECT_FALSE(atan2_of::has(y, 1) || atan2_of::has(1, y)) << y;
}
/// What is left to the rare function, or NaN.
TEST(GpuFunctions, AnglesOfNanAreNan) {
  for (const float other : {1.f, -1.f, 0x1p60f}) {
    EXPECT_TRUE(!atan2_of::has(nan, other) || std::isnan(atan2_of::usual(nan, other))) << other;
    EXPECT_TRUE(!atan2_of::has(other, nan) || std::isnan(atan2_of::usual(other, nan))) << other;
  }
}

TEST(GpuFunctions, HypotenusesHaveErrorsOfAnUlp) {
  for (const int range : {2, 45, 80}) {
    Numbers numbers(range);
    for (int i = 0; i < draws; ++i) {
      const float x = numbers.draw(), y = numbers.draw();
      if (!hypot_of::has(x, y)) continue;
      ASSERT_LT(error(hypot_of::usual(x, y), std::hypot(double{x}, double{y})), 1.5)
          << x << ' ' << y;
    }
  }
}
TEST(GpuFunctions, HypotenusesAreOfSquaresWithinTheRange) {
  EXPECT_TRUE(hypot_of::has(0x1p-50f, 0) && hypot_of::has(0, 0x1p50f));
  for (const float x : {0.f, 0x1.fffffep-51f, 0x1.000002p50f, 0x1p70f, inf, -inf, nan}) {
    EXPECT_FALSE(hypot_of::has(x, 0)) << x;
    EXPECT_FALSE(hypot_of::has(0, x)) << x;
  }
  EXPECT_FALSE(hypot_of::has(nan, 1) || hypot_of::has(inf, nan) || hypot_of::has(1, inf));
}

}  // namespace
}  // namespace quarry::kernels::gpu
