// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

/// Functions that have statements, call others, and use every function of the table.
namespace user {

QUARRY_FUNCTION(twice, (auto x), 2 * x);

namespace inner {
QUARRY_FUNCTION(thrice, (auto x), twice(x) + x);
QUARRY_FUNCTION(smooth, (auto x), auto t = clip(x, 0.f, 1.f); return t * t * (3 - 2 * t););
QUARRY_FUNCTION(power_sum, (auto x, int n), {
  float total = 0, term = 1;
  for (int i = 0; i < n; ++i) {
    total += term;
    term *= x;
  }
  return total;
});
QUARRY_FUNCTION(cut, (auto x), if (x < 0) return 0 * x; return thrice(x););
QUARRY_FUNCTION(typed, (float x, const int& n), x* static_cast<float>(n));
QUARRY_FUNCTION(
    with_lambda, (auto x), const auto square_of = [](auto v) { return v * v; };
    return square_of(x) + 1;);
}  // namespace inner

namespace other {
QUARRY_FUNCTION(twice, (auto x), x + 200);
QUARRY_FUNCTION(calls_its_own, (auto x), twice(x));
}  // namespace other

double helper(double x) { return x; }
QUARRY_FUNCTION(calls_a_helper, (auto x), helper(x));

}  // namespace user
namespace {
QUARRY_FUNCTION(hidden, (auto x), x - 1);
QUARRY_FUNCTION(calls_hidden, (auto x), hidden(hidden(x)));
}  // namespace

namespace quarry {
namespace {

using test::values;

TEST(FunctionCalls, OthersOfItsNamespaceAndOfThoseRoundIt) {
  const auto x = to_device({1.f, 2.f});
  EXPECT_EQ(values(eval(user::inner::thrice(x))), (std::vector{3.f, 6.f}));
  EXPECT_EQ(values(eval(user::other::calls_its_own(x))), (std::vector{201.f, 202.f}));
  EXPECT_EQ(values(eval(user::inner::thrice(x) + user::other::calls_its_own(x))),
            (std::vector{204.f, 208.f}));
}

TEST(FunctionCalls, Statements) {
  const auto x = to_device({-1.f, 0.5f, 2.f});
  EXPECT_EQ(values(eval(user::inner::smooth(x))), (std::vector{0.f, 0.5f, 1.f}));
  EXPECT_EQ(values(eval(user::inner::power_sum(x, 3))), (std::vector{1.f, 1.75f, 7.f}));
  EXPECT_EQ(values(eval(user::inner::cut(x))), (std::vector{-0.f, 1.5f, 6.f}));
  EXPECT_EQ(values(eval(user::inner::typed(x, 3))), (std::vector{-3.f, 1.5f, 6.f}));
  EXPECT_EQ(values(eval(user::inner::with_lambda(x))), (std::vector{2.f, 1.25f, 5.f}));
}

TEST(FunctionCalls, InUnnamedNamespaces) {
  EXPECT_EQ(values(eval(calls_hidden(to_device({5, 6})))), (std::vector{3, 4}));
}

TEST(FunctionCalls, OfNumbersGiveNumbers) {
  static_assert(std::is_same_v<decltype(user::twice(2.f)), float>);
  EXPECT_EQ(user::inner::thrice(2), 6);
}

TEST(FunctionCalls, OfAnOrdinaryFunctionAreRefusedOnEveryDevice) {
  try {
    user::calls_a_helper(to_device({1.0}));
    FAIL() << "it is not refused";
  } catch (const CompileError& e) {
    EXPECT_NE(std::string(e.what()).find("calls helper"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace quarry
