// SPDX-License-Identifier: BSD-3-Clause
// Conversions between element types; Eigen's 16-bit types are the judge of ours.
#include <gtest/gtest.h>
#include <quarry/kernels/types.hpp>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace quarry::kernels {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class Ours>
Ours from_bits(std::uint16_t bits) {
  return std::bit_cast<Ours>(bits);
}

template <class Ours, class Theirs>
void expect_same_value_of_all_patterns() {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float ours = from_bits<Ours>(bits);
    const auto theirs = static_cast<float>(std::bit_cast<Theirs>(bits));
    if (std::isnan(theirs)) {
      ASSERT_TRUE(std::isnan(ours)) << i;
      ASSERT_TRUE(std::isnan(static_cast<float>(Ours(ours)))) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(ours), std::bit_cast<std::uint32_t>(theirs)) << i;
      ASSERT_EQ(Ours(ours).bits, bits);
    }
  }
}

template <class Ours, class Theirs>
void expect_same_rounding(float value) {
  if (std::isnan(value)) {
    ASSERT_TRUE(std::isnan(static_cast<float>(Ours(value))));
  } else {
    ASSERT_EQ(Ours(value).bits, std::bit_cast<std::uint16_t>(Theirs(value)))
        << std::hexfloat << value;
  }
}

/// Rounds every value of the format, every midpoint between two, and the floats next to these.
template <class Ours, class Theirs>
void expect_same_rounding_everywhere() {
  for (std::uint32_t i = 0; i < 0xffff; ++i) {
    const float low = from_bits<Ours>(static_cast<std::uint16_t>(i));
    const float high = from_bits<Ours>(static_cast<std::uint16_t>(i + 1));
    const float middle = std::isinf(high) ? 65520.f : low / 2 + high / 2;
    for (const float x : {low, middle}) {
      for (const float y : {std::nextafter(x, -infinity), x, std::nextafter(x, infinity)}) {
        expect_same_rounding<Ours, Theirs>(y);
      }
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    expect_same_rounding<Ours, Theirs>(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
}

TEST(Float16, HasTheValueThatEigenGivesEveryPattern) {
  expect_same_value_of_all_patterns<float16, Eigen::half>();
}
TEST(Float16, RoundsAsEigen) { expect_same_rounding_everywhere<float16, Eigen::half>(); }
TEST(Bfloat16, HasTheValueThatEigenGivesEveryPattern) {
  expect_same_value_of_all_patterns<bfloat16, Eigen::bfloat16>();
}
TEST(Bfloat16, RoundsAsEigen) { expect_same_rounding_everywhere<bfloat16, Eigen::bfloat16>(); }

TEST(Float16, IsRoundedOnceFromDouble) {
  // Just above the midpoint of 1 and its successor; a float between would round it onto the
  // midpoint.
  EXPECT_EQ(convert<float16>(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(convert<float16>(1 + 0x1p-11).bits, 0x3c00);
  EXPECT_EQ(convert<float16>(1 + 0x1p-11 - 0x1p-40).bits, 0x3c00);
  EXPECT_EQ(convert<float16>(-1 - 0x1p-11 - 0x1p-40).bits, 0xbc01);
  EXPECT_EQ(convert<float16>(65520 - 0x1p-30).bits, 0x7bff);
  EXPECT_EQ(convert<float16>(65520.0).bits, 0x7c00);
  EXPECT_EQ(convert<float16>(1e300).bits, 0x7c00);
  EXPECT_EQ(convert<float16>(-1e300).bits, 0xfc00);
  EXPECT_EQ(convert<float16>(1e-300).bits, 0);
  EXPECT_EQ(convert<float16>(0x1p-25 + 0x1p-60).bits, 1);
  EXPECT_TRUE(std::isnan(static_cast<float>(convert<float16>(std::nan("")))));
}

template <class To, class From>
void expect_saturation() {
  constexpr To low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  const From inf = limits<From>::highest(),
             above = static_cast<From>(high) + (sizeof(To) < 4 ? 1.f : 0.f);
  EXPECT_EQ(convert<To>(inf), high);
  EXPECT_EQ(convert<To>(-inf), low);
  EXPECT_EQ(convert<To>(limits<From>::nan()), 0);
  EXPECT_EQ(convert<To>(above), high);
  EXPECT_EQ(convert<To>(std::nextafter(static_cast<From>(low), -inf)), low);
  EXPECT_EQ(convert<To>(From(100.9)), 100);
  EXPECT_EQ(convert<To>(From(-0.9)), 0);
  if constexpr (is_signed<To>) {
    EXPECT_EQ(convert<To>(From(-100.9)), -100);
    EXPECT_EQ(convert<To>(static_cast<From>(low)), low);
  }
  // The largest number of the source type that fits.
  const From below =
      std::nextafter(static_cast<From>(std::ldexp(1.0, std::numeric_limits<To>::digits)), From(0));
  EXPECT_EQ(convert<To>(below), static_cast<To>(below));
}

template <class T>
class Saturation : public testing::Test {};
using Integers = testing::Types<i8, i16, i32, i64, u8, u16, u32, u64>;
TYPED_TEST_SUITE(Saturation, Integers);
TYPED_TEST(Saturation, OfFloat) { expect_saturation<TypeParam, float>(); }
TYPED_TEST(Saturation, OfDouble) { expect_saturation<TypeParam, double>(); }

TEST(Saturation, OfHalf) {
  EXPECT_EQ(convert<i8>(float16(1000.f)), 127);
  EXPECT_EQ(convert<u8>(bfloat16(-5.f)), 0);
  EXPECT_EQ(convert<i64>(limits<float16>::highest()), std::numeric_limits<i64>::max());
  EXPECT_EQ(convert<u16>(limits<bfloat16>::nan()), 0);
}

TEST(Convert, WrapsIntegers) {
  EXPECT_EQ(convert<u8>(-1), 255);
  EXPECT_EQ(convert<i8>(200), -56);
  EXPECT_EQ(convert<i32>(std::numeric_limits<u64>::max()), -1);
  EXPECT_EQ(convert<u64>(i8{-1}), std::numeric_limits<u64>::max());
}

TEST(Convert, ToBoolIsUnequalToZero) {
  EXPECT_TRUE(convert<bool>(0.5f));
  EXPECT_TRUE(convert<bool>(limits<double>::nan()));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_TRUE(convert<bool>(u16{256}));
  EXPECT_FALSE(convert<bool>(float16(-0.f)));
  EXPECT_TRUE(convert<bool>(limits<bfloat16>::nan()));
  EXPECT_TRUE(convert<bool>(complex<float>{0, 1}));
  EXPECT_TRUE(convert<bool>(complex<double>{0, limits<double>::nan()}));
  EXPECT_FALSE(convert<bool>(complex<float>{-0.f, 0}));
}

TEST(Convert, ComplexTakesPartsOneByOne) {
  const auto wide = convert<complex<double>>(complex<float>{1.5f, -2.f});
  EXPECT_EQ(wide.re, 1.5);
  EXPECT_EQ(wide.im, -2);
  EXPECT_EQ(convert<float>(complex<double>{3, 4}), 3.f);
  EXPECT_EQ(convert<i8>(complex<float>{-300, 4}), -128);
  EXPECT_EQ(convert<complex<float>>(float16(2.f)).re, 2.f);
  EXPECT_EQ(convert<complex<double>>(true).re, 1);
  EXPECT_EQ(convert<complex<double>>(i64{-7}).im, 0);
}

TEST(Limits, AreTheEndsOfTheRange) {
  EXPECT_EQ(limits<i16>::lowest(), -32768);
  EXPECT_EQ(limits<i64>::highest(), std::numeric_limits<i64>::max());
  EXPECT_EQ(limits<u64>::highest(), std::numeric_limits<u64>::max());
  EXPECT_EQ(limits<u32>::lowest(), 0u);
  EXPECT_EQ(static_cast<float>(limits<float16>::lowest()), -infinity);
  EXPECT_EQ(static_cast<float>(limits<bfloat16>::highest()), infinity);
  EXPECT_EQ(limits<complex<double>>::lowest().im, -std::numeric_limits<double>::infinity());
}

TEST(Load, TakesAnyBoolByteButZeroForTrue) {
  const unsigned char bytes[] = {0, 1, 2, 255};
  EXPECT_FALSE(load<bool>(bytes));
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(load<bool>(bytes + i));
}

}  // namespace
}  // namespace quarry::kernels
