// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include <Eigen/Core>

namespace quarry {
namespace {

using test::values;

template <class T>
using A = DeviceNDArray<T>;
template <class E>
using type_of = typename E::value_type;

template <class X, class Y>
using sum_t = type_of<decltype(std::declval<A<X>>() + std::declval<A<Y>>())>;
template <class X, class S>
using scaled_t = type_of<decltype(std::declval<A<X>>() * std::declval<S>())>;
template <class X, class Y>
using quotient_t = type_of<decltype(std::declval<A<X>>() / std::declval<A<Y>>())>;

using i8 = std::int8_t;
using u8 = std::uint8_t;
using i16 = std::int16_t;
using u16 = std::uint16_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;
using c64 = std::complex<float>;
using c128 = std::complex<double>;

// two arrays, by NumPy's table
static_assert(std::is_same_v<sum_t<i8, u8>, i16>);
static_assert(std::is_same_v<sum_t<int, unsigned>, i64>);
static_assert(std::is_same_v<sum_t<i64, u64>, double>);
static_assert(std::is_same_v<sum_t<int, float>, double>);
static_assert(std::is_same_v<sum_t<i16, float>, float>);
static_assert(std::is_same_v<sum_t<bool, u8>, u8>);
static_assert(std::is_same_v<sum_t<bool, bool>, bool>);
static_assert(std::is_same_v<sum_t<c64, double>, c128>);
static_assert(std::is_same_v<sum_t<Eigen::half, Eigen::bfloat16>, float>);
static_assert(std::is_same_v<sum_t<Eigen::half, u8>, Eigen::half>);

// an array and a weak scalar
static_assert(std::is_same_v<scaled_t<float, double>, float>);
static_assert(std::is_same_v<scaled_t<i8, int>, i8>);
static_assert(std::is_same_v<scaled_t<int, double>, double>);
static_assert(std::is_same_v<scaled_t<i8, float>, double>);
static_assert(std::is_same_v<scaled_t<bool, int>, i64>);
static_assert(std::is_same_v<scaled_t<u8, bool>, u8>);
static_assert(std::is_same_v<scaled_t<float, c128>, c64>);
static_assert(std::is_same_v<scaled_t<Eigen::half, double>, Eigen::half>);
static_assert(std::is_same_v<scaled_t<u8, Eigen::half>, Eigen::half>);

// true division
static_assert(std::is_same_v<quotient_t<int, int>, double>);
static_assert(std::is_same_v<quotient_t<i8, i8>, double>);
static_assert(std::is_same_v<quotient_t<float, float>, float>);

TEST(Promotion, MixedTypesComputeInTheCommonType) {
  const auto a = to_device(std::vector<i8>{-1, 100});
  const auto b = to_device(std::vector<u8>{200, 200});
  EXPECT_EQ(values(eval(a + b)), (std::vector<i16>{199, 300}));
  const auto c = to_device(std::vector<i64>{-1});
  const auto d = to_device(std::vector<u64>{1});
  EXPECT_EQ(eval(c + d).item(), 0.0);
  EXPECT_EQ(eval(to_device({1}) / to_device({2})).item(), 0.5);
}

TEST(Promotion, ComparisonOfMixedSignIsExact) {
  const auto minus = to_device(std::vector<i64>{-1});
  const auto high = to_device(std::vector<u64>{std::numeric_limits<u64>::max()});
  EXPECT_TRUE((minus < high).item());
  EXPECT_FALSE((minus == high).item());
  EXPECT_TRUE((high > -1).item());
  EXPECT_TRUE((to_device(std::vector<u8>{255}) < 300).item());
  EXPECT_FALSE((to_device(std::vector<i8>{-128}) == 128).item());
}

TEST(Promotion, AnIntegerThatTheArraysTypeDoesNotHoldIsRefused) {
  const auto a = zeros<u8>({2});
  EXPECT_THROW(a + 256, DTypeError);
  EXPECT_THROW(a * -1, DTypeError);
  EXPECT_THROW(zeros<i8>({2}) + 128, DTypeError);
  EXPECT_NO_THROW(zeros<i8>({2}) + (-128));
  EXPECT_NO_THROW(zeros<bool>({2}) + 1000);
  EXPECT_THROW(zeros<i64>({1}) + std::numeric_limits<u64>::max(), DTypeError);
}

TEST(Promotion, ANumberIsConvertedToTheTypeOfTheLoop) {
  const auto image = to_device(std::vector<u8>{0, 128, 255});
  EXPECT_EQ(values(eval(image / 256)), (std::vector{0.0, 0.5, 255.0 / 256}));
  EXPECT_EQ(values(eval(image / -1)), (std::vector{-0.0, -128.0, -255.0}));
  EXPECT_EQ(values(eval(1000 / image(range(1, _)))), (std::vector{1000.0 / 128, 1000.0 / 255}));
  EXPECT_EQ(values(eval(image && 300)), (std::vector{false, true, true}));
  EXPECT_EQ(values(eval(image || -1)), (std::vector{true, true, true}));
  const auto bytes = to_device(std::vector<i8>{-5, 40});
  const auto lengths = eval(hypot(bytes, 300));
  static_assert(std::is_same_v<decltype(lengths)::value_type, Eigen::half>);
  EXPECT_EQ(float(lengths(1).item()), float(Eigen::half(std::hypot(40.f, 300.f))));
  EXPECT_EQ(float(eval(copysign(image, -1))(1).item()), -128.f);
  // a half-precision number is not weak: the others meet it
  EXPECT_EQ(float(eval(where(image > 1, Eigen::half(0.5f), 300))(0).item()), 300.f);
  EXPECT_EQ(values(clip(image, 0.5, 300)), (std::vector{0.5, 128.0, 255.0}));
}

TEST(Promotion, ClipTakesBoundsBeyondTheType) {
  const auto a = to_device(std::vector<u8>{1, 2, 200});
  EXPECT_EQ(values(eval(clip(a, -1, 300))), values(a));
  EXPECT_EQ(values(eval(clip(a, 2, 1000))), (std::vector<u8>{2, 2, 200}));
  EXPECT_EQ(values(eval(clip(a, -1000, 100))), (std::vector<u8>{1, 2, 100}));
  EXPECT_THROW(clip(a, 300, 400), DTypeError);
  EXPECT_THROW(clip(a, -2, -1), DTypeError);
  const auto b = to_device(std::vector<i64>{-1, 1});
  EXPECT_EQ(values(eval(clip(b, 0, std::numeric_limits<u64>::max()))), (std::vector<i64>{0, 1}));
  const auto flags = a > 1;
  static_assert(std::is_same_v<type_of<decltype(clip(flags, flags, true))>, bool>);
  static_assert(std::is_same_v<type_of<decltype(clip(flags, 0, 1))>, i64>);
  EXPECT_EQ(values(eval(clip(flags, false, true))), (std::vector{false, true, true}));
  EXPECT_EQ(values(eval(clip(flags, true, true))), (std::vector{true, true, true}));
}

TEST(Promotion, AssignmentConvertsWithinItsKind) {
  const auto narrow = zeros<float>({2});
  narrow(all) = to_device({0.1, 1e300});  // NumPy's same_kind: may round and overflow
  EXPECT_EQ(values(narrow), (std::vector{0.1f, std::numeric_limits<float>::infinity()}));
  const auto bytes = zeros<i8>({2});
  bytes(all) = to_device({300, -1});
  EXPECT_EQ(values(bytes), (std::vector<i8>{44, -1}));
  const auto doubles = zeros<double>({2});
  doubles(all) = to_device({1, 2}) + 1;
  EXPECT_EQ(values(doubles), (std::vector{2.0, 3.0}));
  const auto complexes = zeros<c64>({1});
  complexes(all) = to_device({1.5});
  EXPECT_EQ(complexes.item(), (c64{1.5f, 0}));
}

TEST(Promotion, InPlaceOperatorsKeepTheType) {
  const auto a = to_device({1.f, 2.f});
  a *= to_device({0.1, 0.2});
  static_assert(std::is_same_v<decltype(a)::value_type, float>);
  EXPECT_FLOAT_EQ(a(1).item(), 0.4f);
  const auto b = to_device(std::vector<i8>{100});
  b += to_device({100});
  EXPECT_EQ(b.item(), -56);
}

TEST(Promotion, SameKindIsNumPys) {
  using expr::same_kind;
  EXPECT_TRUE(same_kind(dtype_of<double>, dtype_of<float>));
  EXPECT_TRUE(same_kind(dtype_of<u64>, dtype_of<i8>));
  EXPECT_TRUE(same_kind(dtype_of<int>, dtype_of<Eigen::half>));
  EXPECT_TRUE(same_kind(dtype_of<c128>, dtype_of<c64>));
  EXPECT_TRUE(same_kind(dtype_of<bool>, dtype_of<u8>));
  EXPECT_FALSE(same_kind(dtype_of<float>, dtype_of<i64>));
  EXPECT_FALSE(same_kind(dtype_of<c64>, dtype_of<double>));
  EXPECT_FALSE(same_kind(dtype_of<int>, dtype_of<unsigned>));
  EXPECT_FALSE(same_kind(dtype_of<u8>, dtype_of<bool>));
}

TEST(Promotion, FloatsThatNoIntegerHoldsConvertToOneDefinedValue) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto a = to_device({std::nan(""), infinity, -infinity, 1e10, -1e10, 1e30, -0.5});
  constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  EXPECT_EQ(values(a.astype<int>()), (std::vector{0, most, least, most, least, most, 0}));
  EXPECT_EQ(values(a.astype<u8>()), (std::vector<u8>{0, 255, 0, 255, 0, 255, 0}));
  EXPECT_EQ(values(a.astype<i64>())[5], std::numeric_limits<i64>::max());
  EXPECT_EQ(values(a.astype<u64>())[5], std::numeric_limits<u64>::max());
  EXPECT_EQ(values(a.astype<float>())[5], 1e30f);
  EXPECT_EQ(values(a.astype<bool>()),
            (std::vector<bool>{true, true, true, true, true, true, true}));
}

TEST(Promotion, HalfPrecisionRoundsToEvenAndOverflows) {
  const auto a = to_device({1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 65520.f, -70000.f, 0x1p-24f});
  const auto h = values(a.astype<Eigen::half>());
  EXPECT_EQ(float(h[0]), 1.0f);
  EXPECT_EQ(float(h[1]), 1.0f + 0x1p-9f);
  EXPECT_EQ(float(h[2]), std::numeric_limits<float>::infinity());
  EXPECT_EQ(float(h[3]), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(float(h[4]), 0x1p-24f);
  const auto b = values(to_device({1.0f + 0x1p-8f, 3.4e38f, 1e-40f}).astype<Eigen::bfloat16>());
  EXPECT_EQ(float(b[0]), 1.0f);
  EXPECT_EQ(float(b[1]), std::numeric_limits<float>::infinity());
  EXPECT_GT(float(b[2]), 0.f);
}

}  // namespace
}  // namespace quarry
