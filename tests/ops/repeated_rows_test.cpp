// SPDX-License-Identifier: BSD-3-Clause
// Maps of many rows of a few bytes beside arrays that are the same in every row: on a GPU these
// are repeated in memory first.
#include "array/model.hpp"

#include <quarry/memory/failing.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;

constexpr std::int64_t many = 1 << 24;  // elements of a byte, from which on they are repeated

template <class T>
std::vector<T> numbers(std::int64_t n, int seed) {
  std::vector<T> values(static_cast<std::size_t>(n));
  std::uint32_t x = static_cast<std::uint32_t>(seed) * 2654435761u + 1;
  for (T& v : values) {
    x = x * 1664525u + 1013904223u;
    v = static_cast<T>(x >> 25);
  }
  return values;
}

/// The launches of `work`, where only the fake driver counts them.
template <class F>
void expect_launches(std::int64_t expected, const F& work) {
  const std::int64_t launches = fake::launches_of(work);
  if (test::kind() == test::Kind::fake) {
    EXPECT_EQ(launches, expected);
  }
}

/// The launches of a map of so many elements: one that repeats each of the rows, and the rest of
/// them is apart.
std::int64_t launches(std::int64_t rows, std::int64_t columns, int repeated) {
  const std::int64_t whole = std::lcm(columns, std::int64_t{16});
  const std::int64_t row = (2048 + whole - 1) / whole * whole;
  return repeated + (rows * columns % row == 0 ? 1 : 2);
}

class RepeatedRows : public testing::TestWithParam<int> {
 protected:
  const std::int64_t columns = GetParam(), rows = many / columns + 3, n = rows * columns;
};
INSTANTIATE_TEST_SUITE_P(Of, RepeatedRows, testing::Values(2, 3, 5, 7, 12, 13, 15));

TEST_P(RepeatedRows, AreAddedToBytes) {
  const auto x = numbers<std::int8_t>(n, 1), row = numbers<std::int8_t>(columns, 2);
  const auto a = to_device(x).reshape({rows, columns});
  const auto b = to_device(row);
  auto out = zeros<std::int8_t>({rows, columns});
  expect_launches(launches(rows, columns, 1), [&] { out.assign(a + b); });
  const auto got = values(out.ravel());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(got[i], static_cast<std::int8_t>(x[i] + row[i % row.size()])) << i;
  }
}
/// Of several types, one of them backwards, beside a constant and in place.
TEST_P(RepeatedRows, OfSeveralTypesInPlace) {
  const auto x = numbers<std::uint8_t>(n, 1);
  const auto scale = numbers<float>(columns, 2);
  const auto offset = numbers<std::int16_t>(columns, 3);
  const auto a = to_device(x).reshape({rows, columns});
  const auto s = to_device(scale);
  const auto o = to_device(offset)(range(_, _, -1));
  const auto c = full<float>({}, 3.f);
  auto out = ones<float>({rows, columns});
  expect_launches(launches(rows, columns, 2), [&] { out += a * s - o + c; });
  const auto got = values(out.ravel());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t j = i % scale.size();
    const float expected = 1.f + (static_cast<float>(x[i]) * scale[j] -
                                  static_cast<float>(offset[offset.size() - 1 - j]) + 3.f);
    ASSERT_EQ(got[i], expected) << i;
  }
}
/// Two axes before that of the rows are one.
TEST(RepeatedRowsOf, Images) {
  const auto x = numbers<std::uint8_t>(4 * 1200 * 1250 * 3, 1);
  const auto images = to_device(x).reshape({4, 1200, 1250, 3});
  const auto gain = to_device(std::vector<float>{.5f, .25f, 2.f});
  const auto out = zeros<float>({4, 1200, 1250, 3});
  expect_launches(3, [&] { out(all) = images * gain; });
  const auto got = values(out.ravel());
  const float gains[] = {.5f, .25f, 2.f};
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(got[i], static_cast<float>(x[i]) * gains[i % 3]) << i;
  }
}
TEST(RepeatedRowsOf, FewOrLongOnesAreNot) {
  const auto expect_one = [](std::int64_t rows, std::int64_t columns, const auto& a,
                             const auto& b) {
    auto out = zeros<typename std::decay_t<decltype(a)>::value_type>({rows, columns});
    expect_launches(1, [&] { out.assign(a + b); });
  };
  const auto bytes = [](const Shape& shape) { return full<std::int8_t>(shape, 3); };
  expect_one(1000, 3, bytes({1000, 3}), bytes({3}));
  expect_one(many / 17 + 1, 17, bytes({many / 17 + 1, 17}), bytes({17}));
  expect_one(many / 3, 3, bytes({many / 3, 3}), bytes({many / 3, 1}));
  expect_one(many / 3, 3, full<float>({many / 3, 3}, 1.f), full<float>({3}, 1.f));
}
/// Where there is none the map is one kernel, as if rows were few.
TEST(RepeatedRowsOf, NeedNoMemory) {
  const auto a = full<std::int8_t>({many / 3, 3}, 5);
  const auto row = to_device(std::vector<std::int8_t>{1, 2, 3});
  auto out = zeros<std::int8_t>({many / 3, 3});
  {
    const ResourceGuard none(Failing(current_resource(), {.nth = 1, .and_later = true}));
    expect_launches(1, [&] { out.assign(a + row); });
  }
  const auto sums = values(sum(out, 0));
  EXPECT_EQ(sums, (std::vector<std::int64_t>{many / 3 * 6, many / 3 * 7, many / 3 * 8}));
}
/// A copy of rows has no memory to repeat them in.
TEST(RepeatedRowsOf, CopiesAreNot) {
  auto out = zeros<std::int8_t>({many / 3, 3});
  out(all) = to_device(std::vector<std::int8_t>{1, 2, 3});
  EXPECT_EQ(values(sum(out, 0)), (std::vector<std::int64_t>{many / 3, many / 3 * 2, many / 3 * 3}));
}

}  // namespace
}  // namespace quarry
