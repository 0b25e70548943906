// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/kernels/map.hpp>

#include "backend/backend.hpp"
#include "backend/cpu/cpu_layouts.hpp"

namespace quarry::backend {
namespace {

using namespace kernels;
using test::Extents;

// a + scale * b + position, with operands of different sizes
using Scaled = op<multiply_op, double, in<int, 1>, val<double, 0>>;
using Sum = op<add_op, double, op<add_op, double, in<float, 0>, Scaled>, iota<double>>;
using Program = map_of<Sum, double, 1, float, int>;

void check(const Extents& shape, std::mt19937& random, Stream stream) {
  auto out = test::random_operand<double>(shape, random, true);
  auto a = test::random_operand<float>(shape, random, false);
  auto b = test::random_operand<int>(shape, random, false);
  auto expected = out;
  expected.first = expected.storage.data() + (out.first - out.storage.data());
  for (std::int64_t i = 0; i < test::count(shape); ++i) {
    const Extents at = test::coordinates(i, shape);
    expected[at] = a[at] + 3.0 * b[at] + static_cast<double>(i);
  }
  cpu().launch(
      test::call_of(program_for<Program>::value, shape, {},
                    {{out.first, out.strides}, {a.first, a.strides}, {b.first, b.strides}}, 3.0),
      no_workspace(), stream);
  cpu().synchronize(stream);
  EXPECT_TRUE(out.storage == expected.storage) << testing::PrintToString(shape);
}

TEST(CpuMap, AnyLayoutOfRanks1To5) {
  std::mt19937 random(1);
  const Stream stream = cpu().create_stream({});
  for (const Extents& shape : std::vector<Extents>{{1},
                                                   {5},
                                                   {1000},
                                                   {100000},
                                                   {7, 3},
                                                   {3, 50000},
                                                   {50000, 3},
                                                   {200, 301},
                                                   {4, 5, 6},
                                                   {40, 50, 31},
                                                   {2, 3, 4, 5},
                                                   {9, 8, 7, 90},
                                                   {3, 1, 4, 1, 5},
                                                   {10, 9, 8, 7, 11},
                                                   {1, 2, 1, 2, 1, 2, 1, 2, 1, 2}}) {
    for (int repeat = 0; repeat < 4; ++repeat) check(shape, random, repeat % 2 ? stream : nullptr);
  }
  cpu().destroy_stream(stream);
}

TEST(CpuMap, Flat) {
  std::mt19937 random(2);
  for (const std::int64_t n : {1, 15, 16, 17, 4095, 32767, 32768, 32769, 1000003}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> out(size + 1, -1.0), expected = out;
    std::vector<float> a(size);
    std::vector<int> b(size);
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = static_cast<float>(random() % 100);
      b[i] = static_cast<int>(random() % 100);
      expected[i] = a[i] - 2.0 * b[i] + static_cast<double>(i);
    }
    cpu().launch(
        test::flat_call(program_for<Program>::value, n, {out.data(), a.data(), b.data()}, -2.0),
        no_workspace(), nullptr);
    EXPECT_TRUE(out == expected) << n;
  }
}

TEST(CpuMap, InPlaceInStreamOrder) {
  using Twice = map_of<op<add_op, double, in<double, 0>, in<double, 0>>, double, 0, double>;
  const Stream stream = cpu().create_stream(StreamOrder::independent);
  std::vector<double> x(100000, 1.0);
  const KernelCall call = test::flat_call(program_for<Twice>::value, 100000, {x.data(), x.data()});
  for (int i = 0; i < 10; ++i) cpu().launch(call, no_workspace(), stream);
  cpu().synchronize(stream);
  EXPECT_TRUE(x == std::vector<double>(100000, 1024.0));
  cpu().destroy_stream(stream);
}

// More operands than fit in place.
TEST(CpuMap, ManyOperands) {
  using Two = op<add_op, double, in<double, 0>, in<double, 8>>;
  using Last = map_of<op<add_op, double, Two, in<double, 9>>, double, 0, double, double, double,
                      double, double, double, double, double, double, double>;
  std::vector<double> x(12, 1.0);
  std::vector<test::CallOperand> operands;
  for (std::size_t k = 0; k < 11; ++k) {
    x[k] = static_cast<double>(k);
    operands.push_back({&x[k], {8}});
  }
  cpu().launch(test::call_of(program_for<Last>::value, {1}, {}, operands), no_workspace(), nullptr);
  EXPECT_EQ(x[0], 1.0 + 9.0 + 10.0);
}

// Outputs with elements of different sizes, and layouts of their own.
TEST(CpuMap, SeveralOutputs) {
  using Both = several<Sum, cast<short, in<int, 1>>>;
  using Two = map_of<Both, several<double, short>, 1, float, int>;
  std::mt19937 random(3);
  for (const Extents& shape : std::vector<Extents>{{1}, {33}, {200000}, {70, 31}, {4, 50, 60}}) {
    auto sum = test::random_operand<double>(shape, random, true);
    auto copy = test::random_operand<short>(shape, random, true);
    auto a = test::random_operand<float>(shape, random, false);
    auto b = test::random_operand<int>(shape, random, false);
    auto sums = sum;
    auto copies = copy;
    sums.first = sums.storage.data() + (sum.first - sum.storage.data());
    copies.first = copies.storage.data() + (copy.first - copy.storage.data());
    for (std::int64_t i = 0; i < test::count(shape); ++i) {
      const Extents at = test::coordinates(i, shape);
      sums[at] = a[at] + 3.0 * b[at] + static_cast<double>(i);
      copies[at] = static_cast<short>(b[at]);
    }
    cpu().launch(test::call_of(program_for<Two>::value, shape, {},
                               {{sum.first, sum.strides},
                                {copy.first, copy.strides},
                                {a.first, a.strides},
                                {b.first, b.strides}},
                               3.0),
                 no_workspace(), nullptr);
    EXPECT_TRUE(sum.storage == sums.storage) << testing::PrintToString(shape);
    EXPECT_TRUE(copy.storage == copies.storage) << testing::PrintToString(shape);
  }
}

}  // namespace
}  // namespace quarry::backend
