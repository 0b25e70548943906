// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/diff.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "array/model.hpp"

namespace quarry {
namespace {

using test::values;

TEST(Diff, IsEachElementLessTheOneBefore) {
  const auto a = array({{1, 2, 4, 7}, {3, 3, 0, 9}});
  EXPECT_EQ(values(diff(a)), (std::vector{1, 2, 3, 0, -3, 9}));
  EXPECT_EQ(values(diff(a, 1, 0)), (std::vector{2, 1, -4, 2}));
  EXPECT_EQ(values(diff(a, 1, -2)), (std::vector{2, 1, -4, 2}));
  EXPECT_EQ(values(diff(a.transpose(), 1, 0)), (std::vector{1, 0, 2, -3, 3, 9}));
  EXPECT_EQ(values(diff(a * 2.5)), (std::vector{2.5, 5., 7.5, 0., -7.5, 22.5}));
}

TEST(Diff, IsTakenAgain) {
  const auto cubes = eval(power(arange<double>(7), 3.));
  EXPECT_EQ(values(diff(cubes, 3)), (std::vector(4, 6.)));
  EXPECT_EQ(diff(cubes, 6).shape(), (Shape{1}));
  EXPECT_EQ(diff(cubes, 7).shape(), (Shape{0}));
  EXPECT_EQ(diff(cubes, 9).shape(), (Shape{0}));
  const auto same = diff(cubes, 0);
  EXPECT_EQ(values(same), values(cubes));
  EXPECT_NE(same.buffer(), cubes.buffer());
}

TEST(Diff, KeepsTheTypeAndWraps) {
  EXPECT_EQ(values(diff(array<std::uint8_t>({5, 2}))), (std::vector<std::uint8_t>{253}));
  EXPECT_EQ(values(diff(array({true, false, false, true}))), (std::vector{true, false, true}));
  EXPECT_EQ(values(diff(array({true, false, false, true}), 2)), (std::vector{true, true}));
}

TEST(Diff, TakesValuesInFrontThroughConcatenate) {
  const auto a = array({1.f, 4.f, 9.f});
  const auto padded = concatenate(std::tuple{zeros<float>({1}), a, full<float>({1}, 9)});
  EXPECT_EQ(values(diff(padded)), (std::vector{1.f, 3.f, 5.f, 0.f}));
}

TEST(Diff, ReadsViewsThatAreReadOnly) {
  const auto a = array({1, 5}).broadcast_to({2, 2});
  const DeviceNDArray<int> d = diff(a);
  EXPECT_EQ(values(d), (std::vector{4, 4}));
  EXPECT_EQ(values(diff(a, 0)), (std::vector{1, 5, 1, 5}));
}

TEST(Diff, RefusesWhatNumPyRefuses) {
  EXPECT_THROW(diff(array({1, 2}), -1), ShapeError);
  EXPECT_THROW(diff(full<int>({}, 3)), ShapeError);
  EXPECT_THROW(diff(array({1, 2}), 1, 1), ShapeError);
  EXPECT_THROW(diff(array({1, 2}), 0, 3), ShapeError);
}

}  // namespace
}  // namespace quarry
