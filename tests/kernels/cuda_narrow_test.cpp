// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "kernels/emulated_kernels.hpp"

/// Narrow integers, of which a thread takes more than its counters of 32 bits hold.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

/// The reduction of all values by one warp, as a GPU runs it.
template <class Op, class Acc, class Out, class V>
Out reduced_by_a_warp(const std::vector<V>& values) {
  using M = reduction_of<in<V, 0>, Op, Acc, Out, 0, V>;
  constexpr int width = 16 / sizeof(V);
  using Body = reduce_body<M, 1, 1, i32, 1, width, 1>;
  const u64 n = values.size();
  Out result{};
  const u64 words[] = {
      1, n, n,        reinterpret_cast<u64>(&result), reinterpret_cast<u64>(values.data()), 1, n, 0,
      0, 0, sizeof(V)};
  typename Body::param_type p;
  static_assert(sizeof p == sizeof words);
  std::memcpy(&p, words, sizeof p);
  const auto faults =
      launch({{1, 1}, {32, 1}}, 1, [&] { reduce<M, 1, 1, 4, 1, width, 1>(p, nullptr); });
  EXPECT_EQ(faults, std::vector<std::string>{});
  return result;
}

/// So many elements that every thread has far more than most_narrow, the first half of them `a`.
template <class V>
std::vector<V> halves(V a, V b) {
  std::vector<V> values(32 * 5 * most_narrow, b);
  std::fill_n(values.begin(), values.size() / 2, a);
  return values;
}

template <class V>
class cuda_narrow : public ::testing::Test {};
using Narrow = ::testing::Types<i8, u8, i16, u16>;
TYPED_TEST_SUITE(cuda_narrow, Narrow);

TYPED_TEST(cuda_narrow, sums_do_not_wrap) {
  using V = TypeParam;
  for (const V extreme : {limits<V>::lowest(), limits<V>::highest()}) {
    const auto values = halves<V>(extreme, extreme);
    EXPECT_EQ((reduced_by_a_warp<sum_of, i64, i64>(values)), i64{extreme} * std::ssize(values));
    EXPECT_EQ((reduced_by_a_warp<mean_of, double, double>(values)), double(extreme));
  }
}

TYPED_TEST(cuda_narrow, squares_do_not_wrap) {
  using V = TypeParam;
  const auto low = limits<V>::lowest(), high = limits<V>::highest();
  const auto squares = [](const std::vector<V>& values) {
    return reduced_by_a_warp<moments_of, moments<double>, double>(values);
  };
  EXPECT_EQ(squares(halves<V>(high, high)), 0);
  const auto values = halves<V>(low, high);
  const double apart = (double(high) - double(low)) / 2;
  EXPECT_NEAR(squares(values) / (apart * apart * double(values.size())), 1, 1e-14);
}

}  // namespace
}  // namespace quarry::test
