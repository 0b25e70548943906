// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace quarry {
namespace {

using test::counted;
using test::Ints;
using test::Model;
using test::Random;
using test::Seen;
using test::values;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// The view holds what the model says, when the base holds its positions.
void expect_shows(const DeviceNDArray<int>& array, const Model& model) {
  ASSERT_EQ(array.shape(), test::as_shape(model.shape));
  const auto got = values(array);
  ASSERT_TRUE(std::equal(got.begin(), got.end(), model.at.begin(), model.at.end()));
}

TEST(View, EveryIntegerOfOneAxis) {
  const auto a = to_device(counted<int>({10}));
  for (int i = -10; i < 10; ++i) EXPECT_EQ(a(i).item(), (i + 10) % 10);
  EXPECT_EQ(a[3].item(), 3);
  EXPECT_EQ(a(std::uint8_t{4}).item(), 4);
}

TEST(View, EveryIntegerOfThreeAxes) {
  const auto a = to_device(counted<int>({3, 4, 5}));
  for (int i = -3; i < 3; ++i) {
    for (int j = -4; j < 4; ++j) {
      for (int k = -5; k < 5; k += 3) {
        EXPECT_EQ(a(i, j, k).item(), (i + 3) % 3 * 20 + (j + 4) % 4 * 5 + (k + 5) % 5);
      }
    }
  }
}

TEST(View, IntegerOutsideItsAxisIsRefusedWithValueAndExtent) {
  const auto a = to_device(counted<int>({3, 4}));
  for (const std::int64_t i : {std::int64_t{3}, std::int64_t{-4}, least, most}) {
    EXPECT_THROW(a(i), IndexError);
    EXPECT_THROW(a(0, i == 3 ? 4 : i == -4 ? -5 : i), IndexError);
  }
  try {
    a(1, 17);
    FAIL();
  } catch (const IndexError& e) {
    EXPECT_NE(std::string(e.what()).find("17"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("4"), std::string::npos);
  }
  EXPECT_THROW(a(std::numeric_limits<std::uint64_t>::max()), ShapeError);
  EXPECT_THROW(zeros<int>({0})(0), IndexError);
}

TEST(View, TooManyEntriesAndTwoEllipsesAreRefused) {
  const auto a = zeros<int>({3, 4});
  EXPECT_THROW(a(0, 0, 0), IndexError);
  EXPECT_THROW(a(all, all, all), IndexError);
  EXPECT_THROW(a(ellipsis, ellipsis), IndexError);
  EXPECT_THROW(zeros<int>({})(0), IndexError);
}

TEST(View, RangeWithStepZeroIsRefused) {
  EXPECT_THROW(zeros<int>({3})(range(_, _, 0)), IndexError);
}

TEST(View, ExtremeBoundsAndStepsAreCutOff) {
  const auto a = to_device(counted<int>({5}));
  EXPECT_EQ(values(a(range(least, most))), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(a(range(most, least, -1))), (std::vector{4, 3, 2, 1, 0}));
  EXPECT_EQ(values(a(range(_, _, least))), (std::vector{4}));
  EXPECT_EQ(values(a(range(_, _, most))), (std::vector{0}));
  EXPECT_EQ(values(a(range(2, _, least))), (std::vector{2}));
  EXPECT_TRUE(values(a(range(most, most))).empty());
  EXPECT_TRUE(values(a(range(least, least, -1))).empty());
  EXPECT_TRUE(values(a(range(100, 200))).empty());
}

TEST(View, EveryRangeOfOneAxis) {
  const auto a = to_device(counted<int>({7}));
  for (const int step : {1, 2, 3, 8, -1, -2, -3, -8}) {
    for (int start = -9; start <= 9; ++start) {
      for (int stop = -9; stop <= 9; ++stop) {
        const Range r = range(start, stop, step);
        const auto want = test::slice_positions(r, 7);
        const auto got = a(r);
        ASSERT_EQ(got.size(), static_cast<std::int64_t>(want.size()));
        if (test::kind_is_slow() && (start + stop) % 5) continue;
        const auto list = values(got);
        ASSERT_TRUE(std::equal(list.begin(), list.end(), want.begin(), want.end()))
            << start << ':' << stop << ':' << step;
      }
    }
  }
}

TEST(View, PrefixesHaveNumPysStrides) {
  const auto a = to_device(counted<int>({3, 4, 5}));
  EXPECT_EQ(a(1).strides(), (Strides{20, 4}));
  EXPECT_EQ(a(1, 2).strides(), (Strides{4}));
  EXPECT_EQ(a(range(1, _), range(2, _)).strides(), (Strides{80, 20, 4}));
  EXPECT_EQ(a(range(_, _, -1), all, range(_, _, 2)).strides(), (Strides{-80, 20, 8}));
  EXPECT_EQ(a(newaxis, ellipsis, 0).shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(a(0, ellipsis, newaxis, 0).shape(), (Shape{4, 1}));
}

TEST(View, SlicesOfEmptySlicesAreEmpty) {
  const auto a = to_device(counted<int>({10}));
  for (const Range& r : {range(0), range(1), range(-1, _), range(_, _, -1)}) {
    EXPECT_EQ(a(range(0))(r).shape(), (Shape{0}));
  }
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(a(range(i, i)).empty());
  const auto b = to_device(counted<int>({5, 5}));
  EXPECT_EQ(b(range(0)).shape(), (Shape{0, 5}));
  EXPECT_EQ(b(3, range(0)).shape(), (Shape{0}));
}

TEST(View, RowsAndColumnsOfBothOrders) {
  for (const Order order : {Order::c, Order::f}) {
    const auto a = device_array<int>({5, 6, 7}, {.order = order});
    a.copy_to_device(counted<int>({5, 6, 7}));
    const Model m = test::whole({5, 6, 7});
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 5; ++j) {
        for (int axis = 0; axis < 3; ++axis) {
          Model want = test::take(test::take(m, axis == 0 ? 1 : 0, {i}), axis == 2 ? 1 : 2, {j});
          want.shape = {static_cast<std::int64_t>(want.at.size())};
          expect_shows(axis == 0 ? a(all, i, j) : axis == 1 ? a(i, all, j) : a(i, j, all), want);
        }
      }
    }
  }
}

TEST(View, RandomSlicesAndTransposesShowWhatNumPyShows) {
  Random random(1);
  const int rounds = test::kind_is_slow() ? 150 : 3000;
  for (int round = 0; round < rounds; ++round) {
    const Ints shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 6);
    Seen<int> seen{to_device(counted<int>(shape)), test::whole(shape)};
    for (int depth = 0; depth < 3; ++depth) {
      seen = random.slice(seen);
      ASSERT_NO_FATAL_FAILURE(expect_shows(seen.array, seen.model)) << "round " << round;
    }
  }
}

TEST(View, TransposeReversesOrPermutes) {
  const auto a = to_device(counted<int>({3, 4, 2}));
  expect_shows(a.transpose(), test::permute(test::whole({3, 4, 2}), {2, 1, 0}));
  expect_shows(a.transpose({1, 2, 0}), test::permute(test::whole({3, 4, 2}), {1, 2, 0}));
  expect_shows(a.transpose({-1, 0, 1}), test::permute(test::whole({3, 4, 2}), {2, 0, 1}));
  EXPECT_EQ(a.transpose().device_pointer(), a.device_pointer());
}

TEST(View, AxesThatAreNoPermutationAreRefused) {
  const auto a = zeros<int>({3, 4});
  EXPECT_THROW(a.transpose({0, 0}), ShapeError);
  EXPECT_THROW(a.transpose({0, 2}), ShapeError);
  EXPECT_THROW(a.transpose({0}), ShapeError);
  EXPECT_THROW(a.transpose({0, 1, 2}), ShapeError);
  EXPECT_THROW(a.transpose({0, least}), ShapeError);
}

TEST(View, SqueezeDropsUnitAxes) {
  const auto a = zeros<int>({1, 2, 1, 4, 1, 3});
  EXPECT_EQ(a.squeeze().shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(a.squeeze({0}).shape(), (Shape{2, 1, 4, 1, 3}));
  EXPECT_EQ(a.squeeze({-2, 0}).shape(), (Shape{2, 1, 4, 3}));
  EXPECT_EQ(a.squeeze({0, 2, 4}).shape(), (Shape{2, 4, 3}));
  EXPECT_THROW(a.squeeze({1}), ShapeError);
  EXPECT_THROW(a.squeeze({2, 3}), ShapeError);
  EXPECT_THROW(a.squeeze({6}), ShapeError);
  EXPECT_THROW(a.squeeze({0, 0}), ShapeError);
}

TEST(View, SqueezeOfNoAxesTakesTheFirstGivenAsANumber) {
  const auto a = full<int>({}, 7);
  for (const int axis : {0, -1}) {
    EXPECT_EQ(a.squeeze(axis).item(), 7);
    EXPECT_EQ(squeeze(a, axis).item(), 7);
    EXPECT_EQ(squeeze(a + 1, axis).item(), 8);
  }
  EXPECT_EQ(a.squeeze(0).shape(), Shape{});
  EXPECT_THROW(a.squeeze(1), ShapeError);
  EXPECT_THROW(a.squeeze(Axes{0}), ShapeError);
  EXPECT_THROW(squeeze(a, {0}), ShapeError);
  EXPECT_EQ(zeros<int>({2, 1}).squeeze(1).shape(), (Shape{2}));
  EXPECT_THROW(zeros<int>({2, 1}).squeeze(0), ShapeError);
}

TEST(View, BroadcastReadsRepeatedElements) {
  const auto row = to_device(counted<int>({3}));
  const auto wide = row.broadcast_to({2, 4, 3});
  EXPECT_EQ(wide.strides(), (Strides{0, 0, 4}));
  const auto got = values(wide);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(got[i], static_cast<int>(i % 3));
  EXPECT_EQ(sum(wide).item(), 24);
  EXPECT_EQ(values(wide(1, 2, range(_, _, -1))), (std::vector{2, 1, 0}));
  EXPECT_THROW(row.broadcast_to({3, 2}), ShapeError);
  EXPECT_THROW(zeros<int>({2, 3}).broadcast_to({3}), ShapeError);
}

TEST(View, WritingToElementsThatShareMemoryIsRefused) {
  const auto a = to_device({1, 2, 3});
  const DeviceNDArray<int> rows({Shape{4, 3}, Strides{0, 4}}, a.device_pointer(), a.buffer());
  const DeviceNDArray<int> windows({Shape{2, 2}, Strides{4, 4}}, a.device_pointer(), a.buffer());
  for (const auto& shared : {rows, windows}) {
    EXPECT_THROW(shared.fill(0), AliasError);
    EXPECT_THROW(shared += 1, AliasError);
    EXPECT_THROW(shared(ellipsis) = shared + 1, AliasError);
    EXPECT_THROW(
        shared.copy_to_device(counted<int>(Ints(shared.shape().begin(), shared.shape().end()))),
        AliasError);
    EXPECT_THROW(shared.copy_to_device(zeros<int>(shared.shape())), AliasError);
  }
  EXPECT_EQ(values(a), (std::vector{1, 2, 3}));
  EXPECT_EQ(values(windows), (std::vector{1, 2, 2, 3}));
}

TEST(View, AssignmentThroughViews) {
  const auto a = zeros<int>({5, 7});
  a(2, 2) = 500;
  EXPECT_EQ(a(2, 2).item(), 500);
  a(2) = 3;
  a(all, 2) = to_device({1, 2, 3, 4, 5});
  EXPECT_EQ(values(a(2)), (std::vector{3, 3, 3, 3, 3, 3, 3}));
  EXPECT_EQ(values(a(all, 2)), (std::vector{1, 2, 3, 4, 5}));
  a(range(_, _, 2), range(_, _, -3)) = a(range(0, 3), range(0, 3)) * 0 + 8;
  EXPECT_EQ(a(4, 0).item(), 8);
  EXPECT_EQ(a(1, 0).item(), 0);
  EXPECT_THROW(a(0) = zeros<int>({3}), ShapeError);
  EXPECT_THROW(a(all) = zeros<int>({1, 2, 3}), ShapeError);
  EXPECT_THROW(a(0) = zeros<int>({2, 7}) + 1, ShapeError);
}

}  // namespace
}  // namespace quarry
