// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

template <class T>
class Integers : public testing::Test {
 protected:
  static constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  static DeviceNDArray<T> array(std::initializer_list<T> list) { return to_device(list); }
};
using IntegerTypes = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                    std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, DivisionByZeroIsZero) {
  using T = TypeParam;
  const auto x = this->array({T(7), this->low, T(0)}), zero = this->array({T(0), T(0), T(0)});
  EXPECT_EQ(values(floor_divide(x, zero)), (std::vector<T>{0, 0, 0}));
  EXPECT_EQ(values(x % zero), (std::vector<T>{0, 0, 0}));
  EXPECT_EQ(values(fmod(x, zero)), (std::vector<T>{0, 0, 0}));
  EXPECT_EQ(values(floor_divide(x, 0)), (std::vector<T>{0, 0, 0}));
}

TYPED_TEST(Integers, TheSmallestByMinusOneWraps) {
  using T = TypeParam;
  if constexpr (std::is_signed_v<T>) {
    const auto x = this->array({this->low, T(5)}), y = this->array({T(-1), T(-1)});
    EXPECT_EQ(values(floor_divide(x, y)), (std::vector<T>{this->low, -5}));
    EXPECT_EQ(values(x % y), (std::vector<T>{0, 0}));
    EXPECT_EQ(values(fmod(x, y)), (std::vector<T>{0, 0}));
    EXPECT_EQ(abs(this->array({this->low})).item(), this->low);
    EXPECT_EQ((-this->array({this->low})).item(), this->low);
  }
}

TYPED_TEST(Integers, OverflowWraps) {
  using T = TypeParam;
  const auto high = this->array({this->high}), low = this->array({this->low});
  EXPECT_EQ((high + 1).item(), this->low);
  EXPECT_EQ((low - 1).item(), this->high);
  EXPECT_EQ((high * 2).item(), static_cast<T>(-2));
  EXPECT_EQ(square(high).item(), T(1));
}

TYPED_TEST(Integers, FloorDivisionAndRemainderAgree) {
  using T = TypeParam;
  for (int a = -7; a <= 7; ++a) {
    for (int b = -3; b <= 3; ++b) {
      if (b == 0 || (std::is_unsigned_v<T> && (a < 0 || b < 0))) continue;
      if (test::kind_is_slow() && a % 3) continue;
      const auto x = this->array({T(a)}), y = this->array({T(b)});
      const auto quotient = static_cast<int>(std::floor(double(a) / b));
      EXPECT_EQ(floor_divide(x, y).item(), T(quotient)) << a << " // " << b;
      EXPECT_EQ((x % y).item(), T(a - b * quotient)) << a << " % " << b;
      EXPECT_EQ(fmod(x, y).item(), T(a % b)) << a << " fmod " << b;
    }
  }
}

TYPED_TEST(Integers, ShiftsBeyondTheWidthGiveZeroOrTheSign) {
  using T = TypeParam;
  constexpr int width = 8 * sizeof(T);
  const auto x = this->array({T(5), this->high, this->low});
  for (const T by : {T(width), T(width + 1), T(100)}) {
    EXPECT_EQ(values(x << by), (std::vector<T>{0, 0, 0}));
    const T sign = std::is_signed_v<T> ? T(-1) : T(0);
    EXPECT_EQ(values(x >> by), (std::vector<T>{0, 0, sign}));
  }
  EXPECT_EQ((this->array({T(1)}) << (width - 1)).item(), static_cast<T>(T(1) << (width - 1)));
  if constexpr (std::is_signed_v<T>) {
    const auto by = this->array({T(-1), T(-1), T(-1)});
    EXPECT_EQ(values(x << by), (std::vector<T>{0, 0, 0}));
  }
}

TYPED_TEST(Integers, BitOperations) {
  using T = TypeParam;
  const auto x = this->array({T(12), T(10)}), y = this->array({T(10), T(3)});
  EXPECT_EQ(values(x & y), (std::vector<T>{8, 2}));
  EXPECT_EQ(values(x | y), (std::vector<T>{14, 11}));
  EXPECT_EQ(values(x ^ y), (std::vector<T>{6, 9}));
  EXPECT_EQ(values(~x)[0], static_cast<T>(~T(12)));
}

TEST(Elementwise, BoolsAddAsOrAndMultiplyAsAnd) {
  const auto x = to_device({false, true, true}), y = to_device({false, false, true});
  EXPECT_EQ(values(x + y), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(values(x * y), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(values(~x), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(values(!x), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(values(x && y), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(values(floor_divide(x, y)), (std::vector<std::int8_t>{0, 0, 1}));
}

TEST(Elementwise, BytesOtherThanZeroAndOneAreTrueBools) {
  const auto raw = to_device(std::vector<std::uint8_t>{0, 1, 2, 255});
  const DeviceNDArray<bool> flags({Shape{4}, Strides{1}}, raw.device_pointer(), raw.buffer());
  EXPECT_EQ(values(astype<int>(flags)), (std::vector{0, 1, 1, 1}));
  EXPECT_EQ(sum(flags).item(), 3);
  EXPECT_EQ(values(where(flags, 1, 0)), (std::vector{0, 1, 1, 1}));
  EXPECT_EQ(values(flags == true), (std::vector<bool>{false, true, true, true}));
}

TEST(Elementwise, NanPassesThroughMinimumAndMaximumButNotFminAndFmax) {
  const auto x = to_device({1.0, nan, 3.0}), y = to_device({nan, 2.0, 4.0});
  EXPECT_TRUE(std::isnan(values(minimum(x, y))[0]) && std::isnan(values(maximum(x, y))[1]));
  EXPECT_EQ(values(fmin(x, y)), (std::vector{1.0, 2.0, 3.0}));
  EXPECT_EQ(values(fmax(x, y)), (std::vector{1.0, 2.0, 4.0}));
  EXPECT_TRUE(std::isnan(values(clip(x, 0.0, 2.0))[1]));
  EXPECT_EQ(values(isnan(x)), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(values(x == x), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(values(x != x), (std::vector<bool>{false, true, false}));
}

TEST(Elementwise, NegativeZeroKeepsItsSign) {
  const auto x = to_device({-0.0, 0.0});
  EXPECT_EQ(values(signbit(x)), (std::vector<bool>{true, false}));
  EXPECT_EQ(values(signbit(eval(sqrt(x)))), (std::vector<bool>{true, false}));
  EXPECT_EQ(values(signbit(eval(floor(x)))), (std::vector<bool>{true, false}));
  EXPECT_EQ(values(signbit(eval(-x))), (std::vector<bool>{false, true}));
  EXPECT_EQ(values(x == -x), (std::vector<bool>{true, true}));
  EXPECT_EQ(values(1.0 / x), (std::vector{-infinity, infinity}));
}

TEST(Elementwise, DenormalsAreKept) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const auto x = to_device({tiny, 5 * tiny, 0x1p-130f});
  EXPECT_EQ(values(x + x), (std::vector{2 * tiny, 10 * tiny, 0x1p-129f}));
  EXPECT_EQ(values(x * 1.f), values(x));
  EXPECT_EQ(values(x / 1.f), values(x));
  EXPECT_EQ(values(sqrt(x))[2], 0x1p-65f);
  EXPECT_EQ(values(x > 0.f), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(values(x.astype<double>())[0], double(tiny));
}

TEST(Elementwise, ProductAndSumAreRoundedTwice) {
  // with a fused multiply-add the result is 2^-24, not 0
  const float a = 1.f + 0x1p-12f;
  const auto x = to_device({a});
  const float product = -(1.f + 0x1p-11f);
  EXPECT_EQ((x * x + product).item(), 0.f);
}

TEST(Elementwise, ComplexInfinitiesAndDivisionByZero) {
  using C = std::complex<double>;
  const auto x = to_device({C(infinity, nan), C(1, 1)});
  const auto y = to_device({C(2, 0), C(0, 0)});
  const C product = values(x * y)[0];  // NumPy multiplies by the formula: no infinity is recovered
  EXPECT_FALSE(std::isfinite(product.real()));
  const C quotient = values(x / y)[1];
  EXPECT_TRUE(std::isinf(quotient.real()) || std::isnan(quotient.real()));
  EXPECT_EQ(values(isnan(x)), (std::vector<bool>{true, false}));
  EXPECT_EQ(values(isinf(x)), (std::vector<bool>{true, false}));
}

TEST(Elementwise, ComplexBranchCutsFollowTheSignOfZero) {
  using C = std::complex<double>;
  const auto x = to_device({C(-4, 0.0), C(-4, -0.0)});
  EXPECT_EQ(values(sqrt(x)), (std::vector{C(0, 2), C(0, -2)}));
  const auto l = values(log(x));
  EXPECT_GT(l[0].imag(), 3.0);
  EXPECT_LT(l[1].imag(), -3.0);
  EXPECT_EQ(values(abs(x)), (std::vector{4.0, 4.0}));
  EXPECT_EQ(values(real(x)), (std::vector{-4.0, -4.0}));
  EXPECT_EQ(values(conj(to_device({C(1, 2)})))[0], C(1, -2));
}

TEST(Elementwise, PowerOfIntegers) {
  const auto x = to_device({2, 3, -2, 0}), y = to_device({10, 0, 3, 5});
  EXPECT_EQ(values(power(x, y)), (std::vector{1024, 1, -8, 0}));
  EXPECT_DOUBLE_EQ(values(power(to_device({2.0, -8.0}), 0.5))[0], std::sqrt(2.0));
  EXPECT_EQ(values(power(to_device({1, -1, 2, 0}), to_device({-1, -3, -2, -1}))).size(), 4u);
}

TEST(Elementwise, WhereTakesArraysScalarsAndBroadcasts) {
  const auto c = to_device({true, false, true});
  EXPECT_EQ(values(where(c, to_device({1, 2, 3}), 0)), (std::vector{1, 0, 3}));
  EXPECT_EQ(values(where(c, 1.5, to_device({1, 2, 3}))), (std::vector{1.5, 2.0, 1.5}));
  const auto x = to_device({nan, 2.0, -1.0});
  EXPECT_EQ(values(where(isnan(x), 0.0, x)), (std::vector{0.0, 2.0, -1.0}));
  const auto column = to_device({1, 2}).reshape({2, 1});
  EXPECT_EQ(values(where(c, column, -column)), (std::vector{1, -1, 1, 2, -2, 2}));
}

TEST(Elementwise, ClipKeepsTheType) {
  const auto flags = to_device({true, false});
  static_assert(std::is_same_v<decltype(clip(flags, false, true))::value_type, bool>);
  EXPECT_EQ(values(clip(flags, false, true)), (std::vector<bool>{true, false}));
  EXPECT_EQ(values(clip(flags, true, true)), (std::vector<bool>{true, true}));
  EXPECT_EQ(values(clip(flags, false, false)), (std::vector<bool>{false, false}));
  const auto bytes = to_device(std::vector<std::int8_t>{-128, 5, 127});
  static_assert(std::is_same_v<decltype(clip(bytes, -1, 9))::value_type, std::int8_t>);
  EXPECT_EQ(values(clip(bytes, -1, 9)), (std::vector<std::int8_t>{-1, 5, 9}));
}

TEST(Elementwise, RoundingKeepsIntegers) {
  const auto x = to_device({1, -2});
  static_assert(std::is_same_v<decltype(floor(x))::value_type, int>);
  EXPECT_EQ(values(floor(x)), (std::vector{1, -2}));
  EXPECT_EQ(values(rint(to_device({0.5, 1.5, 2.5, -0.5}))), (std::vector{0.0, 2.0, 2.0, -0.0}));
  EXPECT_EQ(values(trunc(to_device({-1.7, 1.7}))), (std::vector{-1.0, 1.0}));
}

TEST(Elementwise, NumPysOtherNames) {
  const auto x = to_device({0.25, 0.5});
  EXPECT_EQ(values(arcsin(x)), values(asin(x)));
  EXPECT_EQ(values(arctan2(x, 1.0)), values(atan2(x, 1.0)));
  EXPECT_EQ(values(absolute(-x)), values(x));
}

TEST(Elementwise, GridsLargerThanAnyBlock) {
  // more rows than a grid has blocks in y
  const auto tall = ones<std::int8_t>({70000, 3})(all, range(0, 2));
  EXPECT_EQ(sum(tall + tall).item(), 280000);
  const auto wide = ones<std::int8_t>({3, 70000}).transpose();
  const DeviceNDArray<std::int8_t> twice = wide + wide;
  EXPECT_EQ(sum(twice).item(), 420000);
}

/// The fake GPU with more memory than it has otherwise; pages are taken when they are touched.
class MuchMemory {
 public:
  MuchMemory() { set(std::size_t{16} << 30); }
  ~MuchMemory() {
    trim_pool(Device());
    set(fake::DeviceOptions().memory);
  }
  MuchMemory(const MuchMemory&) = delete;
  MuchMemory& operator=(const MuchMemory&) = delete;

 private:
  static void set(std::size_t bytes) {
    if (test::kind() == test::Kind::fake) fake::set_memory(0, bytes);
  }
};

TEST(Elementwise, ASmallArrayWithAHugeSpan) {
  // few elements, but offsets beyond 2^31: needs 2.2 GB of address space, touches two pages
  const MuchMemory memory;
  const Device device;
  if (!device.is_cpu() && device.memory_info().free < (std::size_t{8} << 30)) GTEST_SKIP();
  const std::int64_t far = (std::int64_t{1} << 31) + 64;
  const auto raw = device_array<std::int8_t>({far + 1});
  const DeviceNDArray<std::int8_t> ends({Shape{2, 2}, Strides{far - 1, 1}}, raw.device_pointer(),
                                        raw.buffer());
  ends(all, all) = to_device(std::vector<std::int8_t>{1, 2});
  EXPECT_EQ(values(ends + ends), (std::vector<std::int8_t>{2, 4, 2, 4}));
  ends.assign(ends * 2);
  EXPECT_EQ(raw(far).item(), 4);
  EXPECT_EQ(values(ends(range(_, _, -1))(all, 1)), (std::vector<std::int8_t>{4, 4}));
  EXPECT_EQ(values(sum(ends, 0)), (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(values(sum(ends, 1)), (std::vector<std::int64_t>{6, 6}));
}

}  // namespace
}  // namespace quarry
