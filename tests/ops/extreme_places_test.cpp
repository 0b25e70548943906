// SPDX-License-Identifier: BSD-3-Clause
// The places of extremes among elements many of which are equal, and of which some are NaN or zeros
// with a sign.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <Eigen/Core>

namespace quarry {
namespace {

using test::Ints, test::values;

/// Outputs along the outer and the inner axis, of elements along the middle one.
struct Shape {
  std::int64_t outer, middle, inner;
};

template <class T>
class ExtremePlaces : public ::testing::Test {
 protected:
  using Limits = std::numeric_limits<T>;

  /// Of column k the extremes are among few values, which may be the least or the largest of all.
  static T element(std::int64_t place, std::int64_t k) {
    const auto drawn = static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15u >> 40;
    if constexpr (std::is_same_v<T, bool>) {
      return k % 3 == 0 ? k % 2 == 0 : drawn % 7 == 0;
    } else if constexpr (!Limits::is_integer) {
      if (k % 5 == 0) return k % 2 == 0 ? -Limits::infinity() : Limits::infinity();
      if (k % 5 == 1 && drawn % 61 == 0)
        return drawn % 2 == 0 ? Limits::quiet_NaN() : -Limits::quiet_NaN();
      const float zeros[] = {0.f, -0.f, k % 2 == 0 ? 1.f : -1.f};
      if (k % 5 == 3) return static_cast<T>(zeros[drawn % 3]);
      return static_cast<T>(static_cast<float>(drawn % (k % 5 == 2 ? 3 : 4096)) / 4 - 7);
    } else {
      const auto of = [&](T least, std::uint64_t count) {
        return static_cast<T>(least + static_cast<T>(drawn % count));
      };
      if (k % 5 == 0) return k % 2 == 0 ? Limits::lowest() : Limits::max();
      if (k % 5 == 1) return of(Limits::lowest(), 3);
      return k % 5 == 2 ? of(Limits::max() - 2, 3) : of(Limits::lowest(), 256);
    }
  }
  /// The first NaN is the extreme, if there is one.
  static bool beats(T x, T y, bool is_better) {
    if constexpr (!Limits::is_integer) {
      if (x != x || y != y) return y == y;
    }
    return is_better;
  }

  /// Of value(0), value(1), ...
  template <class Value>
  static std::pair<std::int64_t, std::int64_t> first_extremes(std::int64_t count,
                                                              const Value& value) {
    std::int64_t most = 0, least = 0;
    for (std::int64_t j = 1; j < count; ++j) {
      const T x = value(j);
      if (beats(x, value(most), x > value(most))) most = j;
      if (beats(x, value(least), x < value(least))) least = j;
    }
    return {most, least};
  }

  static void expect_places(const Shape& s, const Ints& order) {
    test::Host<T> host({s.outer, s.middle, s.inner});
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(host.count()); ++i) {
      host[static_cast<std::size_t>(i)] = element(i, i / (s.middle * s.inner) + i % s.inner);
    }
    const auto view = to_device(host).transpose(order);
    const auto axis = std::ranges::find(order, 1) - order.begin();
    const auto largest = values(argmax(view, axis)), smallest = values(argmin(view, axis));
    const bool is_swapped = order.front() == 2;
    for (std::int64_t i = 0; i < s.outer; ++i) {
      for (std::int64_t k = 0; k < s.inner; ++k) {
        const auto value = [&](std::int64_t j) {
          return T(host[static_cast<std::size_t>((i * s.middle + j) * s.inner + k)]);
        };
        const auto [most, least] = first_extremes(s.middle, value);
        const auto at = static_cast<std::size_t>(is_swapped ? k * s.outer + i : i * s.inner + k);
        ASSERT_EQ(largest[at], most) << "output " << i << ", " << k;
        ASSERT_EQ(smallest[at], least) << "output " << i << ", " << k;
      }
    }
  }

  /// All elements at once, whose positions are in another order than the memory. Of the elements
  /// those of column `k` are drawn.
  static void expect_first(const Shape& s, const Ints& order, std::int64_t k) {
    const Ints extents{s.outer, s.middle, s.inner};
    test::Host<T> host(extents);
    for (std::size_t i = 0; i < host.count(); ++i) {
      host[i] = element(static_cast<std::int64_t>(i), k);
    }
    const auto view = to_device(host).transpose(order);
    const auto extent = [&](std::size_t d) { return extents[static_cast<std::size_t>(order[d])]; };
    const auto value = [&](std::int64_t position) {
      Ints at(3);
      for (std::size_t d = 3; d-- > 0; position /= extent(d)) {
        at[static_cast<std::size_t>(order[d])] = position % extent(d);
      }
      return T(host[static_cast<std::size_t>((at[0] * s.middle + at[1]) * s.inner + at[2])]);
    };
    const auto [most, least] = first_extremes(static_cast<std::int64_t>(host.count()), value);
    EXPECT_EQ(argmax(view).item(), most) << "column " << k;
    EXPECT_EQ(argmin(view).item(), least) << "column " << k;
  }
};
using Elements =
    ::testing::Types<std::int8_t, std::uint8_t, bool, std::int16_t, std::uint16_t, std::int32_t,
                     std::uint64_t, Eigen::half, Eigen::bfloat16, float, double>;
TYPED_TEST_SUITE(ExtremePlaces, Elements);
template <class T>
class BytePlaces : public ExtremePlaces<T> {};
using Bytes = ::testing::Types<std::int8_t, std::uint8_t, bool>;
TYPED_TEST_SUITE(BytePlaces, Bytes);

TYPED_TEST(ExtremePlaces, OfColumns) {
  this->expect_places({1, 700, 512}, {0, 1, 2});   // that threads share
  this->expect_places({9, 37, 8000}, {0, 1, 2});   // with a rest
  this->expect_places({3, 700, 100}, {0, 1, 2});   // by vectors of four
  this->expect_places({3, 300, 1001}, {0, 1, 2});  // by elements
  this->expect_places({1, 2000, 37}, {0, 1, 2});   // more rows than one batch of them
}
TYPED_TEST(BytePlaces, OfFewElements) {
  this->expect_places({1, 14, 400000}, {0, 1, 2});
  this->expect_places({60, 3, 8192}, {0, 1, 2});
  this->expect_places({40, 2, 9001}, {2, 1, 0});  // tiles: few outer rows
  this->expect_places({9001, 14, 40}, {2, 1, 0});
  this->expect_places({700, 9, 650}, {2, 1, 0});
}
TYPED_TEST(ExtremePlaces, OfRows) {
  this->expect_places({300, 1000, 1}, {0, 1, 2});
  this->expect_places({3000, 77, 1}, {0, 1, 2});
}
TYPED_TEST(ExtremePlaces, OfAllElementsInAnotherOrder) {
  for (std::int64_t k = 0; k < 5; ++k) {
    this->expect_first({1, 700, 133}, {0, 2, 1}, k);
    this->expect_first({40, 9, 301}, {2, 1, 0}, k);
    this->expect_first({301, 40, 3}, {1, 2, 0}, k);  // rows shorter than a vector
    this->expect_first({5, 3000, 1}, {2, 1, 0}, k);
    this->expect_first({2, 3, 9001}, {1, 0, 2}, k);
  }
}

}  // namespace
}  // namespace quarry
