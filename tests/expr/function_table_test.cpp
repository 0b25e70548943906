// SPDX-License-Identifier: BSD-3-Clause
#include "expr/function_table.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "array/model.hpp"

/// Every function of the table in the body of a user function, on every device: what the row
/// computes on one number.
namespace quarry::test::table {
namespace {

template <class T>
std::vector<T> samples(double first) {
  std::vector<T> result;
  for (int i = 0; i < 19; ++i) result.push_back(static_cast<T>(first + 0.37 * i));
  return result;
}

/// Equal, or as close as the libraries of a CPU and a GPU are.
template <class T>
bool is_close(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return (std::isnan(a) && std::isnan(b)) || a == b ||
           std::abs(a - b) <= 1e-14 * std::max(std::abs(a), std::abs(b));
  } else {
    return a == b;
  }
}

template <class Operation, class F, class... X>
void expect_row(const char* name, const F& function, const X&... x) {
  using T = operand_of<Operation>;
  const auto got = values(eval(function(to_device(x)...)));
  using Loop = decltype(kernels::detail::loop_value<typename Operation::domain>(T{}));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto expected = Operation::template apply<Loop>(x[i]...);
    EXPECT_TRUE(is_close<decltype(expected + 0)>(got[i], expected))
        << name << " gives " << got[i] << " where the row gives " << expected;
  }
}

TEST(FunctionTable, EveryRowIsThere) {
#define QUARRY_UNARY(name, ...) \
  expect_row<kernels::name##_op>(#name, call_##name, samples<operand_of<kernels::name##_op>>(-3));
#define QUARRY_BINARY(name, ...)                                                                  \
  expect_row<kernels::name##_op>(#name, call_##name, samples<operand_of<kernels::name##_op>>(-3), \
                                 samples<operand_of<kernels::name##_op>>(-1));
#define QUARRY_TERNARY(name, ...)                                                                 \
  expect_row<kernels::name##_op>(#name, call_##name, samples<operand_of<kernels::name##_op>>(-3), \
                                 samples<operand_of<kernels::name##_op>>(-1),                     \
                                 samples<operand_of<kernels::name##_op>>(2));
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY
}

TEST(FunctionTable, NumPysOtherNames) {
  const double x = 0.3;
  const double expected = std::asin(x) + std::acos(x) + std::atan(x) + std::asinh(x) +
                          std::acosh(x + 1) + std::atanh(x) + std::atan2(x, x) + std::abs(x);
  EXPECT_NEAR(values(eval(call_aliases(to_device({x}))))[0], expected, 1e-14);
}

TEST(FunctionTable, IntegersBecomeDoubleWhereNumPyComputesInFloatingPoint) {
  const auto n = to_device({4, 9});
  const auto roots = eval(call_sqrt(n));
  static_assert(std::is_same_v<decltype(roots), const DeviceNDArray<double>>);
  EXPECT_EQ(values(roots), (std::vector{2.0, 3.0}));
  EXPECT_EQ(values(eval(call_maximum(n, 5.5f))), (std::vector{5.5f, 9.f}));
  EXPECT_EQ(values(eval(call_divide(n, 8))), (std::vector{0.5, 1.125}));
  EXPECT_EQ(values(eval(call_negative(to_device({true, false})))), (std::vector{-1, 0}));
}

}  // namespace
}  // namespace quarry::test::table
