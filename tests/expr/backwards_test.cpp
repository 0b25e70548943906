// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// Rows that are read from their last element to the first one, as parts of expressions and alone:
/// those of plain loops.
namespace quarry {
namespace {

using test::values;

template <class T>
class Backwards : public ::testing::Test {};
using Elements = ::testing::Types<std::int8_t, std::int16_t, float, double>;
TYPED_TEST_SUITE(Backwards, Elements);

template <class T>
T element(std::int64_t i) {
  return static_cast<T>(static_cast<int>(i % 61));
}

TYPED_TEST(Backwards, RowsOfAnyLength) {
  using T = TypeParam;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto between = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    const std::int64_t outer = between(1, 5), rows = between(1, 40), columns = between(1, 70);
    const std::int64_t before = between(0, 3), past = columns + between(0, 3);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + to_string(Shape{outer, rows, columns}));
    std::vector<T> all_of_it, same, of_row;
    for (std::int64_t i = 0; i < outer * rows * (before + past); ++i) {
      all_of_it.push_back(element<T>(i));
    }
    for (std::int64_t i = 0; i < outer * rows * columns; ++i) same.push_back(element<T>(i + 7));
    for (std::int64_t i = 0; i < rows; ++i) of_row.push_back(element<T>(i));
    const auto whole = to_device(all_of_it).reshape({outer, rows, before + past});
    const auto x = whole(all, all, range(before, before + columns));
    const auto y = to_device(same).reshape({outer, rows, columns});
    const auto r = to_device(of_row).reshape({rows, 1});

    std::vector<T> flipped, both_flipped, added;
    for (std::int64_t i = 0; i < outer * rows * columns; ++i) {
      const std::int64_t column = i % columns, row = i / columns;
      const auto at = [&](std::int64_t in_row) {
        return all_of_it[static_cast<std::size_t>(in_row * (before + past) + before + columns - 1 -
                                                  column)];
      };
      flipped.push_back(at(row));
      both_flipped.push_back(at(outer * rows - 1 - row));
      added.push_back(static_cast<T>(flipped.back() + same[static_cast<std::size_t>(i)] +
                                     of_row[static_cast<std::size_t>(row % rows)]));
    }
    EXPECT_EQ(values(flip(x, {2}).copy()), flipped);
    EXPECT_EQ(values(flip(x).copy()), both_flipped);
    EXPECT_EQ(values(eval(x(all, all, range(_, _, -1)) + y + r)), added);
  }
}

TEST(BackwardsOnGpus, ShortRowsAreReadAcrossTheirEnds) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "asks the fake driver";
  const auto x = arange<float>(39 * 50).reshape({50, 39});
  const auto y = flip(x, {1}).copy();
  EXPECT_NE(fake::last_kernel().find("map_across<"), std::string::npos) << fake::last_kernel();
}

}  // namespace
}  // namespace quarry
