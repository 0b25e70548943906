// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <numeric>
#include <type_traits>

#include "array/model.hpp"

/// New arrays like others, with strides of their own, and from lists.
namespace quarry {
namespace {

using test::counted;
using test::values;

struct Pixel {
  std::uint8_t red, green, blue;
};

TEST(Like, OfArraysExpressionsAndHostArrays) {
  const auto a = to_device(counted<int>({2, 3})).transpose();
  EXPECT_EQ(values(ones_like(a)), std::vector(6, 1));
  EXPECT_EQ(ones_like(a).strides(), (Strides{4, 12}));
  EXPECT_EQ(values(full_like(a + 1, 7)), std::vector(6, 7));
  EXPECT_EQ(zeros_like(a + 1).strides(), (Strides{4, 12}));
  EXPECT_EQ(zeros_like<double>(a + a.copy()).strides(), (Strides{16, 8}));
  EXPECT_EQ(zeros_like((a + 1)(a > 2)).strides(), Strides{4});
  const auto host = counted<float>({3, 2});
  const auto like_host = full_like(host, 2.5);
  static_assert(std::is_same_v<decltype(like_host), const DeviceNDArray<float>>);
  EXPECT_EQ(values(like_host), std::vector(6, 2.5f));
  EXPECT_EQ(device_array_like(std::vector<double>(4)).shape(), Shape{4});
  const DeviceNDArray<const int> read_only = a;
  static_assert(std::is_same_v<decltype(empty_like(read_only)), DeviceNDArray<int>>);
  static_assert(std::is_same_v<decltype(zeros_like<float>(a)), DeviceNDArray<float>>);
  EXPECT_EQ(zeros_like<double>(a).strides(), (Strides{8, 24}));
  EXPECT_THROW(full_like<std::uint8_t>(a, 300), DTypeError);
}

/// NumPy's strides; a result of two operands that do not move along an axis is in C order.
TEST(Like, AxesThatDoNotMoveAreTheInnermostOnes) {
  const auto row = arange<double>(3).broadcast_to({2, 3});
  EXPECT_EQ(empty_like(row).strides(), (Strides{8, 16}));
  EXPECT_EQ(eval(row + row).strides(), (Strides{24, 8}));
}

TEST(Like, HasTheStreamOfTheOtherOrThatOfTheOptions) {
  const Stream mine, other;
  const auto a = zeros<int>({2}).bind(mine);
  EXPECT_EQ(ones_like(a).stream(), mine);
  EXPECT_EQ(ones_like(a * 2).stream(), mine);
  EXPECT_EQ(ones_like(a, {.stream = other}).stream(), other);
  const StreamGuard guard(other);
  EXPECT_EQ(ones_like(a).stream(), other);
}

TEST(Like, OfRecords) {
  const auto a = full<Pixel>({2, 2}, Pixel{1, 2, 3});
  EXPECT_EQ(values(zeros_like(a)).at(3).blue, 0);
  EXPECT_EQ(values(full_like(a, Pixel{4, 5, 6})).at(3).blue, 6);
}

TEST(NewStrides, OfAnyKind) {
  const auto a = device_array<int>({2, 3}, {.strides = Strides{-32, 8}});
  EXPECT_EQ(a.strides(), (Strides{-32, 8}));
  a.copy_to_device(counted<int>({2, 3}));
  EXPECT_EQ(values(a), (std::vector{0, 1, 2, 3, 4, 5}));
  const std::byte* const first = a.buffer()->data();
  EXPECT_EQ(a.device_pointer(), first + 32);
  EXPECT_EQ(a.buffer()->bytes(), 32u + 16 + 4);
  EXPECT_EQ(values(full<int>({2, 2}, 3, {.strides = Strides{4, 8}})), std::vector(4, 3));
  EXPECT_EQ(values(empty_like(a, {.strides = Strides{4, 8}}) = a), values(a));
  EXPECT_EQ(zeros<int>({0, 3}, {.strides = Strides{1 << 30, 4}}).buffer()->bytes(), 0u);
}

TEST(NewStrides, ThatCannotBeAreRefused) {
  EXPECT_THROW(device_array<int>({2, 3}, {.strides = Strides{4}}), ShapeError);
  EXPECT_THROW(device_array<int>({2}, {.order = Order::c, .strides = Strides{4}}), LogicError);
  EXPECT_THROW(device_array<int>({3}, {.strides = Strides{std::int64_t{1} << 62}}), SizeOverflow);
  EXPECT_THROW(device_array<int>({-1}, {.strides = Strides{4}}), ShapeError);
  EXPECT_THROW(zeros<int>({3}, {.strides = Strides{0}}), AliasError);
  EXPECT_THROW(mapped_array<int>({2}, {.order = Order::f, .strides = Strides{4}}), LogicError);
}

TEST(NewStrides, OfMappedArrays) {
  const auto a = mapped_array<int>({2, 2}, {.strides = Strides{4, -16}});
  a.fill(1);
  a.stream().synchronize();
  a.at(1, 1) = 5;
  EXPECT_EQ(values(a), (std::vector{1, 1, 1, 5}));
  EXPECT_EQ(mapped_array_like(a, {.strides = Strides{8, 4}}).strides(), (Strides{8, 4}));
}

TEST(FromLists, HaveTheirShapeAndType) {
  EXPECT_EQ(values(array({1, 2, 3})), (std::vector{1, 2, 3}));
  const auto matrix = array({{1.f, 2.f}, {3.f, 4.f}});
  static_assert(std::is_same_v<decltype(matrix), const DeviceNDArray<float>>);
  EXPECT_EQ(matrix.shape(), (Shape{2, 2}));
  EXPECT_EQ(values(matrix), (std::vector{1.f, 2.f, 3.f, 4.f}));
  EXPECT_EQ(array({{{1}, {2}}, {{3}, {4}}, {{5}, {6}}}).shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(array({{{{1, 2}}}}).shape(), (Shape{1, 1, 1, 2}));
  EXPECT_EQ(values(array<double>({{1, 2}, {3, 4}})), (std::vector{1., 2., 3., 4.}));
  EXPECT_EQ(array<double>({{1}, {2}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(array<double>({7}).shape(), Shape{1});
  EXPECT_EQ(values(array({true, false})), (std::vector{true, false}));
  EXPECT_EQ(array({Pixel{1, 2, 3}, Pixel{4, 5, 6}})(1).item().blue, 6);
  EXPECT_EQ(values(array({{1, 2}, {3, 4}}, {.order = Order::f})), (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(array<float>({}).shape(), Shape{0});
}

TEST(FromLists, OfDifferentLengthsAreRefusedWithBoth) {
  try {
    array({{1, 2}, {3}});
    FAIL() << "no error";
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(), "lists of 2 and 1 elements at depth 1 of an array");
  }
  EXPECT_THROW(array({{{1}, {2}}, {{3}}}), ShapeError);
}

TEST(FromOneValue, IsAnArrayWithoutAxes) {
  EXPECT_EQ(array(3.5).item(), 3.5);
  EXPECT_EQ(array(3.5).shape(), Shape{});
  EXPECT_EQ(array(Pixel{1, 2, 3}).item().green, 2);
}

TEST(FromArrays, IsACopy) {
  const auto a = array({1, 2});
  const auto b = array(a), c = array(a + 1);
  a.fill(0);
  EXPECT_EQ(values(b), (std::vector{1, 2}));
  EXPECT_EQ(values(c), (std::vector{2, 3}));
  EXPECT_EQ(values(array(std::vector<int>{4, 5})), (std::vector{4, 5}));
}

}  // namespace
}  // namespace quarry
