// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/emulated_kernels.hpp"
#include "kernels/values_at_edges.hpp"

/// The best of a warp's accumulators is what a loop over them finds, whatever is equal, a NaN, or a
/// zero with a sign.
namespace quarry::test {
namespace {

using namespace quarry::kernels;

/// A place in an array, or that of no element.
i64 drawn_place(std::mt19937_64& random) {
  const std::uint64_t high[] = {0, 0, 1, 5};
  return random() % 9 == 0 ? argmax_of::nowhere
                           : static_cast<i64>(high[random() % 4] << 32 | random() % 40);
}

template <class T>
class best_of_warp_of : public ::testing::Test {};
using Values = ::testing::Types<i8, u8, i16, u16, i32, u32, bool, float, float16, bfloat16>;
TYPED_TEST_SUITE(best_of_warp_of, Values);

template <class Op, class T>
void expect_the_best(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values = values_at_edges<T>();
  std::shuffle(values.begin(), values.end(), random);
  const std::size_t some = 1 + random() % values.size();  // the fewer, the more are equal
  std::vector<located<T>> own(32), found(32);
  for (auto& a : own) a = {values[random() % some], drawn_place(random)};
  located<T> best = own[0];
  for (const auto& a : own) best = Op::combine(best, a);
  const auto faults = launch({{1, 1}, {32, 1}}, seed,
                             [&] { found[threadIdx.x] = best_of_warp<Op>(own[threadIdx.x]); });
  EXPECT_EQ(faults, std::vector<std::string>{});
  for (const auto& a : found) {
    EXPECT_EQ(a.index, best.index);
    const bool is_as_good = !Op::beats(a.value, best.value) && !Op::beats(best.value, a.value);
    EXPECT_TRUE(is_as_good);
  }
}

TYPED_TEST(best_of_warp_of, accumulators_is_that_of_a_loop) {
  static_assert(has_order<located<TypeParam>>);
  for (std::uint64_t seed = 0; seed < 400 && !this->HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_the_best<argmax_of, TypeParam>(seed);
    expect_the_best<argmin_of, TypeParam>(seed);
  }
}

static_assert(!has_order<located<double>> && !has_order<located<i64>> &&
              !has_order<located<complex<float>>>);

}  // namespace
}  // namespace quarry::test
