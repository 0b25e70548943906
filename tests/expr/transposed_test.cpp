// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

/// Maps whose inputs lie in another order than the output, against loops over positions.
namespace quarry {
namespace {

using test::values;
using Extents = std::vector<std::int64_t>;

class Transposed : public ::testing::Test {
 protected:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  /// About `size` elements in 2 to 5 axes, some short ones and often odd ones.
  Extents draw_extents(std::int64_t size) {
    Extents extents(static_cast<std::size_t>(2 + below(4)), 1);
    for (auto& extent : extents) extent = 1 + below(below(2) ? 5 : 90);
    std::int64_t others = 1;
    for (std::size_t d = 1; d < extents.size(); ++d) others *= extents[d];
    extents[0] = std::max<std::int64_t>(1, size / others);
    std::ranges::shuffle(extents, random_);
    if (below(2)) {
      for (auto& extent : extents) extent = extent > 8 ? (extent + 15) / 16 * 16 : extent;
    }
    return extents;
  }
  Extents draw_order(std::size_t rank) {
    Extents order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    return order;
  }

  std::mt19937_64 random_{20261122};
};

/// Calls f(place in the array, place in C order of the transposed one) for every element.
template <class F>
void each_element(const Extents& extents, const Extents& order, F&& f) {
  const std::size_t rank = extents.size();
  Extents strides(rank, 1), position(rank, 0);
  for (std::size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * extents[d + 1];
  const std::int64_t size = strides[0] * extents[0];
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < rank; ++d) place += position[d] * strides[std::size_t(order[d])];
    f(place, i);
    for (std::size_t d = rank; d-- > 0;) {
      if (++position[d] < extents[std::size_t(order[d])]) break;
      position[d] = 0;
    }
  }
}

template <class T>
std::vector<T> counted(std::int64_t size, std::int64_t step) {
  std::vector<T> values(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) values[std::size_t(i)] = static_cast<T>(i * step % 113);
  return values;
}

std::int64_t product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

template <class T>
void expect_equal(const std::vector<T>& got, const std::vector<T>& expected) {
  const auto [at, other] = std::ranges::mismatch(got, expected);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != expected[i];
  EXPECT_EQ(wrong, 0u) << "the first at " << at - got.begin();
}

template <class T>
void check(const Extents& extents, const Extents& order) {
  SCOPED_TRACE(::testing::PrintToString(extents) + " in the order " +
               ::testing::PrintToString(order));
  const std::int64_t size = product(extents);
  const auto x = counted<T>(size, 7), y = counted<T>(size, 5);
  const auto a = to_device(x).reshape(Shape(extents)).transpose(Axes(order));
  const auto b = to_device(y).reshape(a.shape());
  const DeviceNDArray<T> copy = a.copy(), sum = b + a;
  std::vector<T> expected(x.size()), both(x.size());
  each_element(extents, order, [&](std::int64_t from, std::int64_t to) {
    expected[std::size_t(to)] = x[std::size_t(from)];
    both[std::size_t(to)] = static_cast<T>(y[std::size_t(to)] + x[std::size_t(from)]);
  });
  expect_equal(values(copy), expected);
  expect_equal(values(sum), both);
}

TEST_F(Transposed, CopiesAndSumsHaveTheValuesOfLoops) {
  for (int round = 0; round < 12; ++round) {
    const Extents extents = draw_extents(60000);
    const Extents order = draw_order(extents.size());
    check<float>(extents, order);
    check<double>(extents, order);
    check<std::int8_t>(extents, order);
    check<std::int16_t>(extents, order);
  }
}

/// Elements half as large at every second place are as far apart as the dense ones beside them.
template <class T, class Half>
void check_halves(const Extents& extents, const Extents& order) {
  SCOPED_TRACE(::testing::PrintToString(extents) + " in the order " +
               ::testing::PrintToString(order));
  const std::int64_t size = product(extents);
  const auto x = counted<T>(size, 7);
  const auto y = counted<Half>(2 * size, 5);
  const auto a = to_device(x).reshape(Shape(extents)).transpose(Axes(order));
  Extents twice(a.shape().begin(), a.shape().end());
  twice.back() *= 2;
  const auto b = to_device(y).reshape(Shape(twice))(ellipsis, range(_, _, 2));
  auto sum = zeros<T>(a.shape());
  sum(ellipsis) = b + a;
  std::vector<T> expected(x.size());
  each_element(extents, order, [&](std::int64_t from, std::int64_t to) {
    expected[std::size_t(to)] = static_cast<T>(y[std::size_t(2 * to)] + x[std::size_t(from)]);
  });
  expect_equal(values(sum), expected);
}

TEST_F(Transposed, BesideEverySecondOneOfElementsOfHalfTheSize) {
  for (int round = 0; round < 12; ++round) {
    const Extents extents = draw_extents(60000);
    const Extents order = draw_order(extents.size());
    check_halves<double, float>(extents, order);
    check_halves<std::int64_t, std::int32_t>(extents, order);
    check_halves<float, std::int16_t>(extents, order);
    check_halves<std::int16_t, std::int8_t>(extents, order);
  }
}

/// The axes of writing merge to one, those of reading do not.
TEST_F(Transposed, ShortInnerAxes) { check<float>({2, 31, 20000}, {2, 1, 0}); }

}  // namespace
}  // namespace quarry
