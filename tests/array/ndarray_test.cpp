// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>

namespace quarry {
namespace {

using test::counted;
using test::Ints;
using test::read;
using test::values;

TEST(NDArray, KnowsItsShapeStridesTypeAndSize) {
  const auto a = device_array<float>({2, 3, 4});
  EXPECT_EQ(a.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(a.strides(), (Strides{48, 16, 4}));
  EXPECT_EQ(a.dtype(), dtype_of<float>);
  EXPECT_EQ(a.size(), 24);
  EXPECT_EQ(a.nbytes(), 96u);
  EXPECT_EQ(a.ndim(), 3u);
  EXPECT_EQ(a.len(), 2);
  EXPECT_EQ(a.device(), get_current_device());
  EXPECT_TRUE(a.is_c_contiguous());
  EXPECT_FALSE(a.is_f_contiguous());
  EXPECT_EQ(device_array<double>({100}).shape(), (Shape{100}));
}

TEST(NDArray, FortranOrderPutsTheFirstAxisInnermost) {
  const auto a = device_array<double>({2, 5, 3}, {.order = Order::f});
  EXPECT_EQ(a.strides(), (Strides{8, 16, 80}));
  EXPECT_FALSE(a.is_c_contiguous());
  EXPECT_TRUE(a.is_f_contiguous());
}

TEST(NDArray, ContiguityIgnoresUnitAxes) {
  for (const Shape& shape : {Shape{1, 4}, Shape{4, 1}, Shape{1, 1}, Shape{}, Shape{7}}) {
    for (const Order order : {Order::c, Order::f}) {
      const auto a = device_array<double>(shape, {.order = order});
      EXPECT_TRUE(a.is_c_contiguous() && a.is_f_contiguous()) << shape;
    }
  }
  const auto wide = device_array<double>({10, 10});
  const DeviceNDArray<double> row({Shape{1, 10}, Strides{800, 8}}, wide.device_pointer(),
                                  wide.buffer());
  EXPECT_TRUE(row.is_c_contiguous() && row.is_f_contiguous());
}

TEST(NDArray, DefaultConstructedIsEmpty) {
  const DeviceNDArray<float> a;
  EXPECT_EQ(a.shape(), (Shape{0}));
  EXPECT_TRUE(a.empty());
  EXPECT_TRUE(values(a).empty());
  EXPECT_EQ(sum(a).item(), 0.f);
  EXPECT_EQ(DeviceNDArray<float>(a + 1.f).size(), 0);
}

TEST(NDArray, MovedFromCanBeAssignedAndDestroyed) {
  auto a = to_device({1, 2, 3});
  auto b = std::move(a);
  a = to_device({4});
  EXPECT_EQ(a.item(), 4);
  EXPECT_EQ(values(b), (std::vector{1, 2, 3}));
}

TEST(NDArray, SelfAssignmentSelfMoveAndSelfSwapChangeNothing) {
  auto a = to_device({1, 2, 3});
  auto& same = a;
  a = same;
  a = std::move(same);
  std::swap(a, same);
  a(all) = same;
  EXPECT_EQ(values(a), (std::vector{1, 2, 3}));
}

TEST(NDArray, CopiesOfAHandleShareMemoryAndCopySeparatesIt) {
  const auto a = to_device({1, 2, 3});
  const auto handle = a;
  const auto own = a.copy();
  a(0) = 9;
  EXPECT_EQ(values(handle), (std::vector{9, 2, 3}));
  EXPECT_EQ(values(own), (std::vector{1, 2, 3}));
}

TEST(NDArray, NameIsReboundAndViewIsWrittenThrough) {
  auto a = to_device({1, 2, 3});
  const auto before = a;
  a = a * 2;
  EXPECT_EQ(values(before), (std::vector{1, 2, 3}));
  EXPECT_EQ(values(a), (std::vector{2, 4, 6}));
  const auto kept = a;
  a(all) = a + 1;
  EXPECT_EQ(values(kept), (std::vector{3, 5, 7}));
  a += 1;
  EXPECT_EQ(values(kept), (std::vector{4, 6, 8}));
  a(range(1, _)) *= 10;
  EXPECT_EQ(values(kept), (std::vector{4, 60, 80}));
}

TEST(NDArray, ANumberWrittenIntoElementsMustFit) {
  const auto a = zeros<std::uint8_t>({3});
  a(0) = 255;
  EXPECT_THROW(a(1) = 256, DTypeError);
  EXPECT_THROW(a(all) = -1, DTypeError);
  EXPECT_EQ(values(a), (std::vector<std::uint8_t>{255, 0, 0}));
  const auto b = zeros<float>({2});
  b(0) = 3;
  b(1) = 0.5;
  EXPECT_EQ(values(b), (std::vector{3.f, 0.5f}));
}

TEST(NDArray, RebindingMayChangeTheShape) {
  auto a = zeros<float>({3});
  a = ones<float>({2, 2}) + 1;
  EXPECT_EQ(a.shape(), (Shape{2, 2}));
  EXPECT_EQ(values(a), std::vector<float>(4, 2));
}

TEST(NDArray, AViewKeepsTheMemoryOfItsBaseAlive) {
  auto view = [] {
    const auto base = to_device(counted<int>({100}));
    return base(range(50, 53));
  }();
  const auto other = full<int>({100}, -1);  // would take the memory if it were free
  EXPECT_EQ(values(view), (std::vector{50, 51, 52}));
}

TEST(NDArray, ItemNeedsExactlyOneElement) {
  EXPECT_EQ(to_device({7}).item(), 7);
  EXPECT_EQ(full<double>({}, 1.5).item(), 1.5);
  EXPECT_EQ(full<double>({1, 1, 1}, 2.5).item(), 2.5);
  EXPECT_THROW(to_device({1, 2}).item(), ShapeError);
  EXPECT_THROW(zeros<int>({0}).item(), ShapeError);
}

TEST(NDArray, LenIsTheFirstExtent) {
  for (const Shape& shape : {Shape{3}, Shape{3, 5}, Shape{3, 5, 7}}) {
    EXPECT_EQ(device_array<int>(shape).len(), 3);
  }
  EXPECT_THROW(device_array<int>({}).len(), IndexError);
}

TEST(NDArray, ZeroDimensionalWorksEverywhere) {
  const auto a = full<double>({}, 2.25);
  EXPECT_EQ(a.ndim(), 0u);
  EXPECT_EQ(values(a), (std::vector{2.25}));
  EXPECT_EQ(values(a.copy()), (std::vector{2.25}));
  EXPECT_EQ(sqrt(a).item(), 1.5);
  EXPECT_EQ((a + a * 2).item(), 6.75);
  EXPECT_EQ(sum(a).item(), 2.25);
  EXPECT_EQ(max(a, {}, {.keepdims = true}).ndim(), 0u);
  EXPECT_EQ(argmin(a).item(), 0);
  EXPECT_EQ(values(a.reshape({1, 1})), (std::vector{2.25}));
  EXPECT_EQ(a.transpose().ndim(), 0u);
  EXPECT_EQ(values(a + to_device({1.0, 2.0})), (std::vector{3.25, 4.25}));
  a(ellipsis) = 4.0;
  EXPECT_EQ(a.item(), 4.0);
  std::ostringstream text;
  text << a;
  EXPECT_EQ(text.str(), "4.0");
  EXPECT_EQ(a.astype<int>().item(), 4);
}

TEST(NDArray, WithoutElementsEverythingWorks) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0, 5}, Shape{0, 0, 0}, Shape{10, 0}}) {
    const auto a = zeros<float>(shape);
    EXPECT_TRUE(a.is_c_contiguous() && a.is_f_contiguous()) << shape;
    EXPECT_EQ(a.nbytes(), 0u);
    EXPECT_TRUE(values(a).empty());
    EXPECT_EQ(DeviceNDArray<float>(sin(a) + a).shape(), shape);
    EXPECT_EQ(a.copy().shape(), shape);
    EXPECT_EQ(a.astype<int>().shape(), shape);
    EXPECT_EQ(a.transpose().size(), 0);
    a.fill(1);
    a += 1;
    a(all) = a * 2;
    EXPECT_EQ(sum(a).item(), 0.f);
    EXPECT_EQ(prod(a).item(), 1.f);
    EXPECT_FALSE(any(a).item());
    EXPECT_TRUE(all_of(a).item());
    EXPECT_THROW(min(a), ShapeError);
    EXPECT_THROW(argmax(a), ShapeError);
    EXPECT_EQ(a.reshape({0, 7}).shape(), (Shape{0, 7}));
  }
}

TEST(NDArray, HugeExtentsBesideAZeroAreNoOverflow) {
  const std::int64_t huge = std::int64_t{1} << 62;
  const auto a = zeros<double>({0, huge, huge});
  EXPECT_EQ(a.size(), 0);
  EXPECT_TRUE(DeviceNDArray<double>(a + 1.0).empty());
  EXPECT_EQ(sum(a).item(), 0.0);
}

TEST(NDArray, NegativeExtentIsRefused) {
  EXPECT_THROW(zeros<float>({-1}), ShapeError);
  EXPECT_THROW(device_array<float>({3, -4}), ShapeError);
  EXPECT_THROW(device_array<float>({0, -4}), ShapeError);
}

TEST(NDArray, ProductOfExtentsThatOverflowsIsRefusedAndTakesNothing) {
  const std::int64_t big = std::int64_t{1} << 32;
  const auto before = pool_statistics(get_current_device()).active_bytes;
  EXPECT_THROW(device_array<float>({big, big}), SizeOverflow);
  EXPECT_THROW(device_array<char>({2, 2, 5, 5581, 8681, 49477, 384773}), SizeOverflow);
  EXPECT_THROW(device_array<double>({std::int64_t{1} << 61}), SizeOverflow);
  EXPECT_THROW(device_array<double>({std::int64_t{1} << 61}, {.order = Order::f}), SizeOverflow);
  EXPECT_THROW(device_array<char>({std::numeric_limits<std::int64_t>::max()}), Error);
  EXPECT_EQ(pool_statistics(get_current_device()).active_bytes, before);
}

TEST(NDArray, ExtentThatDoesNotFitIsRefused) {
  EXPECT_THROW(device_array<float>({std::uint64_t{1} << 63}), ShapeError);
  EXPECT_EQ(device_array<float>({std::uint8_t{3}, 2L}).shape(), (Shape{3, 2}));
  static_assert(!std::is_convertible_v<bool, Extent>);
  static_assert(!std::is_convertible_v<double, Extent>);
}

TEST(NDArray, RankHasALimit) {
  const std::vector<std::int64_t> ones32(32, 1), ones33(33, 1), many(1'000'000, 1);
  const auto a = zeros<float>(Shape(ones32));
  EXPECT_EQ(a.ndim(), 32u);
  EXPECT_EQ(DeviceNDArray<float>(a + 1.f).ndim(), 32u);
  EXPECT_EQ(sum(a, {0, 31}).ndim(), 30u);
  EXPECT_THROW(zeros<float>(Shape(ones33)), ShapeError);
  EXPECT_THROW(zeros<float>(Shape(many)), ShapeError);
  EXPECT_THROW(a(newaxis), ShapeError);
}

TEST(NDArray, AViewThatLeavesItsBufferIsRefused) {
  const auto a = device_array<double>({10});
  const auto seen = [&](Shape shape, Strides strides, std::ptrdiff_t offset) {
    return DeviceNDArray<double>({std::move(shape), std::move(strides)},
                                 a.device_pointer() + offset, a.buffer());
  };
  EXPECT_EQ(seen({10}, {-8}, 72).size(), 10);
  EXPECT_EQ(seen({5}, {16}, 8).size(), 5);
  EXPECT_THROW(seen({11}, {8}, 0), IndexError);
  EXPECT_THROW(seen({10}, {8}, 8), IndexError);
  EXPECT_THROW(seen({10}, {-8}, 64), IndexError);
  EXPECT_THROW(seen({2}, {std::numeric_limits<std::int64_t>::max()}, 0), ShapeError);
  EXPECT_THROW(seen({-2}, {8}, 0), ShapeError);
  EXPECT_THROW(seen({2, 2}, {8}, 0), ShapeError);
  // strides that no element uses do not count
  EXPECT_EQ(seen({1}, {std::numeric_limits<std::int64_t>::max()}, 0).size(), 1);
  EXPECT_EQ(seen({0, 5}, {1 << 20, 1 << 20}, 0).size(), 0);
}

TEST(NDArray, ReadOnlyViewsReadAndCannotBeTurnedBack) {
  const auto a = to_device({1, 2, 3});
  const DeviceNDArray<const int> view = a;
  EXPECT_EQ(values(view), (std::vector{1, 2, 3}));
  EXPECT_EQ(values(view + 1), (std::vector{2, 3, 4}));
  EXPECT_EQ(values(view.reshape({3, 1})), (std::vector{1, 2, 3}));
  EXPECT_EQ(sum(view).item(), 6);
  EXPECT_EQ(values(view.copy()), (std::vector{1, 2, 3}));
  using View = DeviceNDArray<const int>;
  static_assert(!std::is_convertible_v<View, DeviceNDArray<int>>);
}

TEST(NDArray, TheBaseGivesBackTheTypeItHolds) {
  const auto a = to_device({1, 2, 3});
  const DeviceNDArrayBase& base = a;
  EXPECT_EQ(values(DeviceNDArray<int>(base)), (std::vector{1, 2, 3}));
  EXPECT_THROW(DeviceNDArray<float>{base}, DTypeError);
  EXPECT_THROW(DeviceNDArray<unsigned>{base}, DTypeError);
}

TEST(NDArray, AstypeConvertsAndOwnsItsMemory) {
  const auto a = to_device({1.9, -1.9, 0.0, 300.0});
  EXPECT_EQ(values(a.astype<int>()), (std::vector{1, -1, 0, 300}));
  EXPECT_EQ(values(a.astype<bool>()), (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(values(a.astype<std::complex<float>>())[1], (std::complex<float>{-1.9f, 0}));
  const auto same = a.astype<double>();
  same(0) = 5.0;
  EXPECT_EQ(a(0).item(), 1.9);
}

TEST(NDArray, SplitGivesViewsOfASection) {
  const auto a = to_device(counted<int>({100}));
  const auto halves = a.split(50);
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(halves[1](0).item(), 50);
  halves[0](0) = -1;
  EXPECT_EQ(a(0).item(), -1);
  const auto parts = a.split(33);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[3].shape(), (Shape{1}));
  EXPECT_EQ(parts[3].item(), 99);
  EXPECT_EQ(a(range(_, _, -2)).split(20).at(2).size(), 10);
  EXPECT_EQ(values(a(range(_, _, -2)).split(20)[1](range(0, 2))), (std::vector{59, 57}));
  EXPECT_EQ(a.split(std::numeric_limits<std::int64_t>::max()).size(), 1u);
  EXPECT_TRUE(zeros<int>({0}).split(3).empty());
  EXPECT_THROW(a.split(0), ShapeError);
  EXPECT_THROW(a.split(-1), ShapeError);
  EXPECT_THROW(a.reshape({10, 10}).split(2), ShapeError);
}

TEST(NDArray, BindChoosesTheStreamOfAHandle) {
  const auto s = stream();
  const auto a = device_array<float>({3, 3}, {.stream = s});
  EXPECT_EQ(a.stream(), s);
  const auto b = zeros<float>({3}).bind(s);
  EXPECT_EQ(b.stream(), s);
  EXPECT_EQ(b(range(1, _)).stream(), s);
  EXPECT_EQ(b.reshape({3, 1}).stream(), s);
  s.synchronize();
}

TEST(NDArray, FillWritesEveryElementOfAnyView) {
  const auto a = zeros<std::int16_t>({4, 6});
  a(all, range(1, _, 2)).fill(7);
  a(range(_, _, -3)).fill(9);
  const auto got = values(a);
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t row = i / 6, column = i % 6;
    EXPECT_EQ(got[i], row % 3 == 0 ? 9 : column % 2 == 1 ? 7 : 0);
  }
}

}  // namespace
}  // namespace quarry
