// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "array/model.hpp"
#include "message_of.hpp"

// The values are NumPy's (2.4), written down as it prints them.

namespace quarry {
namespace {

using test::message_of;
using test::values;

TEST(ArangeOfAType, HasTheLengthOfTheNumbersThatAreGiven) {
  const auto all = values(arange<std::uint8_t>(256));
  ASSERT_EQ(all.size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(all[i], i);
  EXPECT_EQ(values(arange<std::uint8_t>(250, 260, 5)), (std::vector<std::uint8_t>{250, 255}));
  EXPECT_EQ(values(arange<std::int8_t>(0, 128, 64)), (std::vector<std::int8_t>{0, 64}));
  EXPECT_EQ(values(arange<std::int8_t>(100, -200, -100)), (std::vector<std::int8_t>{100, 0, -100}));
  EXPECT_EQ(values(arange<float>(0, 0.3, 0.1)), (std::vector<float>{0, 0.1f, 0.2f}));
  EXPECT_EQ(arange<float>(0, 1, 0.1).size(), 10);
  EXPECT_EQ(values(arange<int>(2.5)), (std::vector{0, 1, 2}));
  EXPECT_EQ(values(arange<std::int64_t>(0u, std::size_t{3})), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(ArangeOfAType, OfIntegersHasTheDistanceOfItsFirstTwo) {
  EXPECT_EQ(values(arange<int>(0, 3, 0.5)), (std::vector(6, 0)));
  EXPECT_EQ(values(arange<int>(0.5, 4)), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(values(arange<int>(0, -3, -1.5)), (std::vector{0, -1}));
  EXPECT_EQ(values(arange<int>(1.5, 10, 2.5)), (std::vector{1, 4, 7, 10}));
}

TEST(ArangeOfAType, OfIntegersWraps) {
  const auto bytes = values(arange<std::int8_t>(300));
  ASSERT_EQ(bytes.size(), 300u);
  EXPECT_EQ(bytes[127], 127);
  EXPECT_EQ(bytes[128], -128);
  EXPECT_EQ(bytes[299], 43);
}

TEST(ArangeOfAType, OfBoolsHasAtMostTwo) {
  EXPECT_EQ(values(arange<bool>(2)), (std::vector{false, true}));
  EXPECT_EQ(values(arange<bool>(1, 3)), (std::vector{true, true}));
  EXPECT_EQ(message_of<DTypeError>([] { arange<bool>(3); }), "an arange of 3 bools: there are two");
}

TEST(ArangeOfAType, RefusesFirstElementsThatDoNotFit) {
  EXPECT_EQ(message_of<DTypeError>([] { arange<std::uint8_t>(-1, 3); }),
            "-1 does not fit in uint8");
  EXPECT_EQ(message_of<DTypeError>([] { arange<std::int8_t>(0, 300, 200); }),
            "200 does not fit in int8");
  EXPECT_EQ(arange<std::int8_t>(0, 100, 200).size(), 1);  // there is no second one
  EXPECT_EQ(message_of<DTypeError>([] { arange<int>(3e9, 4e9, 1e9); }),
            "3000000000 does not fit in int32");
  EXPECT_EQ(values(arange<int>(-2147483648.5, -2147483640., 5.)),
            (std::vector{std::numeric_limits<int>::min(), -2147483643}));
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(message_of<DTypeError>([] { arange<std::int64_t>(-1, most); }),
            "18446744073709551615 does not fit in int64");
  EXPECT_THROW(arange<std::int64_t>(0, most), SizeOverflow);
  EXPECT_EQ(values(arange<std::int64_t>(7u, std::size_t{4}, -2)),
            (std::vector<std::int64_t>{7, 5}));
  EXPECT_THROW(arange<int>(0, 3, 0.), ShapeError);
}

TEST(ArangeOfAType, GoesWhereTheOptionsSay) {
  const Stream s = stream();
  EXPECT_EQ(arange<float>(5, {.stream = s}).stream(), s);
  EXPECT_EQ(arange<float>(1, 5.5, {.stream = s}).stream(), s);
  EXPECT_EQ(arange<float>(1, 5.5, 2, {.stream = s}).stream(), s);
}

TEST(LinspaceOfIntegers, IsTheIntegersBelowThePoints) {
  EXPECT_EQ(values(linspace<int>(0, 3, 7)), (std::vector{0, 0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(values(linspace<int>(-3, 0, 7)), (std::vector{-3, -3, -2, -2, -1, -1, 0}));
  EXPECT_EQ(values(linspace<int>(0, 3, 7, {.endpoint = false})),
            (std::vector{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(values(linspace<std::int8_t>(0.5, 2.5, 3)), (std::vector<std::int8_t>{0, 1, 2}));
  EXPECT_EQ(values(linspace<int>(0, -1.5, 2)), (std::vector{0, -2}));
  EXPECT_EQ(values(linspace<int>(7, 9, 1)), (std::vector{7}));
  EXPECT_TRUE(values(linspace<int>(7, 9, 0)).empty());
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(values(linspace<std::int64_t>(std::int64_t{0}, most, 2)),
            (std::vector<std::int64_t>{0, most}));  // NumPy: of a double, which is one more
}

TEST(LinspaceOfIntegers, RefusesEndsThatDoNotFit) {
  EXPECT_EQ(message_of<DTypeError>([] { linspace<std::uint8_t>(0, 300, 4); }),
            "300 does not fit in uint8");
  EXPECT_EQ(message_of<DTypeError>([] { linspace<std::uint8_t>(-0.5, 1, 3); }),
            "-1 does not fit in uint8");
  EXPECT_THROW(linspace<int>(0, 3, -1), ShapeError);
}

TEST(LinspaceOfAType, TakesNumbersAsTheyAre) {
  const auto points = values(linspace<float>(0, 0.1, 11));
  for (int i = 0; i <= 10; ++i) {
    EXPECT_EQ(points[static_cast<std::size_t>(i)], static_cast<float>(i * (0.1 / 10))) << i;
  }
  EXPECT_EQ(values(linspace<float>(0, 1, 3)), (std::vector{0.f, 0.5f, 1.f}));
}

}  // namespace
}  // namespace quarry
