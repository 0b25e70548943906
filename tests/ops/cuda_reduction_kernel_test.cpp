// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/reduction_kernel.hpp>
#include <quarry/quarry.hpp>

#include <cmath>

#include "ops/text_kernels.hpp"

namespace quarry {
namespace {

using test::Ints;
using test::message_of;
using test::Random;
using test::set_on_host;
using test::TextKernels;
using test::values;

/// A random number of few bits, so that sums are exact in any order.
float number(std::size_t i) { return static_cast<float>(i * 29 % 16) - 7; }

using Norm = ReductionKernel<double(float, float), std::int64_t>;

/// The root of the sum of |x y|, modulo a number that it does not reach.
Norm norm() {
  const Norm kernel({.parameters = "x, y",
                     .map_expr = "abs(x * y)",
                     .reduce_expr = "(a + b) % 1000003",
                     .identity = "0",
                     .post_map_expr = "sqrt(double(a))",
                     .name = "norm"});
  static const kernels::host_reducer<std::int64_t> host{
      0, [](std::int64_t a, std::int64_t b) { return (a + b) % 1000003; },
      [](std::int64_t a, std::int64_t) { return a; }};
  kernel.reducer().host = &host;
  set_on_host(
      kernel.map(), +[](float x, float y) { return static_cast<std::int64_t>(std::abs(x * y)); });
  set_on_host(
      kernel.of_nothing(), +[] { return 0.; });
  return kernel;
}
/// The fake driver's reducer has no root.
double finished(std::int64_t sum) {
  return test::kind() == test::Kind::fake ? double(sum) : std::sqrt(double(sum));
}

TEST_F(TextKernels, ReductionsAreOfExpressionsInOneKernel) {
  const Norm kernel = norm();
  const auto x = arange<float>(1000);
  const auto before = test::launches();
  const DeviceNDArray<double> result = kernel(x - 500.f, 2);
  if (test::kind() == test::Kind::fake) {
    EXPECT_LE(test::launches(), before + 2);
  }
  EXPECT_EQ(result.shape(), Shape());
  EXPECT_EQ(result.item(), finished(500000));
}

TEST_F(TextKernels, ReductionsAreOverAnyAxesOfAnyLayout) {
  const Norm kernel = norm();
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    const auto x = test::drawn<float>(random, 3, round % 10 == 0 ? 40 : 9, number);
    const auto axis = static_cast<std::size_t>(random.between(0, 2));
    const bool keeps = random.coin();
    const auto result = kernel({.axes = static_cast<int>(axis), .keepdims = keeps}, x.array, -1);
    Shape shape = x.array.shape();
    std::vector<std::int64_t> sums(std::size_t(result.size()), 0);
    std::int64_t inner = 1;
    for (std::size_t d = axis + 1; d < 3; ++d) inner *= shape[d];
    for (std::size_t k = 0; k < x.model.at.size(); ++k) {
      const auto at = static_cast<std::int64_t>(k);
      const auto to = at / (inner * shape[axis]) * inner + at % inner;
      sums[std::size_t(to)] +=
          std::abs(static_cast<std::int64_t>(number(std::size_t(x.model.at[k]))));
    }
    ASSERT_EQ(result.ndim(), keeps ? 3u : 2u);
    const auto got = values(result);
    for (std::size_t k = 0; k < got.size(); ++k) ASSERT_EQ(got[k], finished(sums[k])) << round;
  }
}

TEST_F(TextKernels, ReductionsOfNothingAreTheirIdentity) {
  const ReductionKernel<float(float)> kernel({.parameters = "x",
                                              .map_expr = "x",
                                              .reduce_expr = "maximum(a, b)",
                                              .identity = "-5",
                                              .post_map_expr = "a + n",
                                              .name = "largest"});
  set_on_host(
      kernel.of_nothing(), +[] { return -5.f; });
  const auto empty = zeros<float>({3, 0});
  EXPECT_EQ(values(kernel({.axes = 1}, empty)), std::vector<float>(3, -5));
  EXPECT_EQ(kernel({.axes = 1, .keepdims = true}, empty).shape(), (Shape{3, 1}));
  EXPECT_EQ(kernel({.axes = 0}, empty).shape(), Shape{0});
  EXPECT_EQ(kernel(empty).item(), -5);
}

TEST_F(TextKernels, ReductionsAreCompiledByTheirTexts) {
  const auto made = [](std::string_view combined, auto* combine) {
    const ReductionKernel<int(int)> kernel(
        {.parameters = "x", .map_expr = "x", .reduce_expr = combined, .identity = "1"});
    static kernels::host_reducer<int> hosts[2];
    kernels::host_reducer<int>& host = hosts[combined == "a * b" ? 0 : 1];
    host = {1, combine, [](int a, std::int64_t) { return a; }};
    kernel.reducer().host = &host;
    set_on_host(
        kernel.map(), +[](int x) { return x; });
    return kernel;
  };
  const auto product = made(
      "a * b", +[](int a, int b) { return a * b; });
  const auto largest = made(
      "max(a, b)", +[](int a, int b) { return std::max(a, b); });
  const auto x = arange<int>(1, 6);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(product(x).item(), 120);
    EXPECT_EQ(largest(x).item(), 5);
  }
}

TEST_F(TextKernels, ReductionsThatDoNotCompileNameTheirExpression) {
  if (test::kind() == test::Kind::fake) GTEST_SKIP() << "the fake compiler reads no expression";
  const ReductionKernel<float(float)> kernel({.parameters = "x",
                                              .map_expr = "x",
                                              .reduce_expr = "a +\n missing(b)",
                                              .identity = "0",
                                              .name = "broken_sum"});
  try {
    kernel(ones<float>({4}));
    FAIL() << "it compiled";
  } catch (const CompileError& e) {
    EXPECT_NE(e.log().find("reduce_expr of broken_sum(2): error: identifier \"missing\""),
              std::string::npos)
        << e.log();
  }
}

TEST(ReductionKernel, NeedsItsExpressions) {
  using Sum = ReductionKernel<float(float)>;
  EXPECT_EQ(message_of<LogicError>(
                [] { Sum({.parameters = "x", .map_expr = "x", .reduce_expr = "a + b"}); }),
            "the reduction reduction has no identity");
  EXPECT_EQ(message_of<LogicError>(
                [] { Sum({.parameters = "x", .reduce_expr = "a + b", .identity = "0"}); }),
            "the reduction reduction has no map_expr");
  EXPECT_EQ(message_of<LogicError>([] {
              Sum({.parameters = "", .map_expr = "x", .reduce_expr = "a + b", .identity = "0"});
            }),
            "the parameters \"\" are 0, and the kernel's type has 1");
  for (const std::string_view name : {"identity", "combine", "take", "takes_batches", "finish"}) {
    EXPECT_EQ(message_of<LogicError>([&] {
                Sum({.parameters = "x",
                     .map_expr = "x",
                     .reduce_expr = "a + b",
                     .identity = "0",
                     .name = name});
              }),
              "no reduction can have the name " + std::string(name));
  }
}

TEST(ReductionKernel, IsForGpus) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "of the CPU device";
  EXPECT_THROW(norm()(ones<float>({2}), 1), LogicError);
  EXPECT_THROW(norm()(ones<float>({0}), 1), LogicError);
}

}  // namespace
}  // namespace quarry
