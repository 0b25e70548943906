// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/emulated_reductions.hpp"
#include "kernels/values_at_edges.hpp"

/// The places of extremes in columns of small elements, of which a GPU compares several at once,
/// are those that a loop over each column finds: the first of equals, and of numbers that are none.
namespace quarry::test {
namespace {

template <class T>
double number(T v) {
  if constexpr (is_half<T>)
    return convert<float>(v);
  else
    return static_cast<double>(v);
}
/// Whether a column's result is x, rather than what came before.
template <bool Largest>
bool is_better(double x, double before) {
  if (std::isnan(before)) return false;
  return std::isnan(x) || (Largest ? x > before : x < before);
}

/// Rows of so many columns, V to a vector, as one block sees them.
template <class Op, class T, int V, int Along>
void expect_the_first_places(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const std::int64_t columns = Along == 0 ? V * (1 + below(6)) : V + below(6 * V),
                     rows = 1 + below(seed % 3 == 0 ? 1500 : 60), vectors = (columns + V - 1) / V,
                     lanes = 1 + below(5);
  std::vector<T> values = values_at_edges<T>();
  std::shuffle(values.begin(), values.end(), random);
  const std::size_t some = 1 + random() % values.size();  // the fewer, the more are equal
  // the first of them nearly everywhere: the others' places count
  const auto drawn = [&]() -> T { return values[random() % 8 == 0 ? random() % some : 0]; };
  const std::int64_t before = Along == 0 ? 0 : below(16);
  const auto elements = static_cast<std::size_t>(before + rows * columns + 16);
  const auto matrix = std::make_unique<T[]>(elements);
  for (std::size_t i = 0; i < elements; ++i) matrix[i] = drawn();
  const T* const first = matrix.get() + before;
  std::vector<std::int64_t> found(static_cast<std::size_t>(columns), -1), expected;
  for (std::int64_t column = 0; column < columns; ++column) {
    std::int64_t best = 0;
    const auto at = [&](std::int64_t row) { return number(first[row * columns + column]); };
    for (std::int64_t row = 1; row < rows; ++row)
      if (is_better<is_largest<Op>>(at(row), at(best))) best = row;
    expected.push_back(best);
  }
  using M = reduction_of<in<T, 0>, Op, located<T>, i64, 0, T>;
  const auto word = [](const void* at) { return reinterpret_cast<u64>(at); };
  const u64 words[] = {u64(columns),
                       u64(rows),
                       u64(rows),
                       word(found.data()),
                       word(first),
                       u64(columns),
                       u64(rows),
                       sizeof(i64),
                       0,
                       sizeof(T),
                       u64(columns) * sizeof(T)};
  const auto faults = launch({{1, 1}, {static_cast<unsigned>(vectors * lanes), 1}}, seed, [&] {
    run_reduce<M, 1, 1, i32, Along, V, 1>(words, nullptr, nullptr, 0);
  });
  EXPECT_EQ(faults, std::vector<std::string>{});
  ASSERT_EQ(found, expected) << rows << " rows of " << columns << ", " << lanes << " lanes";
}

template <class T>
class cuda_places_in_columns : public ::testing::Test {};
using Elements = ::testing::Types<i8, u8, bool, i16, u16, float16, bfloat16>;
TYPED_TEST_SUITE(cuda_places_in_columns, Elements);

TYPED_TEST(cuda_places_in_columns, are_the_first_of_equals) {
  constexpr int widest = 8 / sizeof(TypeParam), narrow = 4 / sizeof(TypeParam);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_the_first_places<argmax_of, TypeParam, widest, 0>(seed);
    expect_the_first_places<argmin_of, TypeParam, widest, -4>(seed);
    expect_the_first_places<argmin_of, TypeParam, narrow, 0>(seed);
    expect_the_first_places<argmax_of, TypeParam, narrow, -4>(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace quarry::test
