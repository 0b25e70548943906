// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "backend/backend.hpp"
#include "backend/cpu_layouts.hpp"

namespace quarry::backend {
namespace {

using namespace kernels;
using test::Extents;

// a + scale * b + position, with operands of different sizes
using Scaled = op<multiply_op, double, in<int, 1>, val<double, 0>>;
using Sum = op<add_op, double, op<add_op, double, in<float, 0>, Scaled>, iota<double>>;
using Program = map_of<Sum, double, 1, float, int>;

MapCall call_of(const Extents& shape, const std::vector<std::uint64_t>& pointers, double scale,
                const std::vector<Extents>& strides) {
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(test::count(shape))};
  words.insert(words.end(), pointers.begin(), pointers.end());
  const auto scalar = test::scalar_words(scale);
  words.insert(words.end(), scalar.begin(), scalar.end());
  const bool flat = strides.empty();
  for (const auto extent : flat ? Extents{} : shape)
    words.push_back(static_cast<std::uint64_t>(extent));
  for (const Extents& operand : strides) {
    for (const auto stride : operand) words.push_back(static_cast<std::uint64_t>(stride));
  }
  MapCall call{&program_for<Program>::value, flat ? 0 : static_cast<int>(shape.size()),
               test::count(shape), 0, Words(words.size())};
  std::copy(words.begin(), words.end(), call.words.data());
  return call;
}

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
  cpu().map(call_of(shape, {test::word(out.first), test::word(a.first), test::word(b.first)}, 3.0,
                    {out.strides, a.strides, b.strides}),
            stream);
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
    cpu().map(call_of({n}, {test::word(out.data()), test::word(a.data()), test::word(b.data())},
                      -2.0, {}),
              nullptr);
    EXPECT_TRUE(out == expected) << n;
  }
}

TEST(CpuMap, InPlaceInStreamOrder) {
  using Twice = map_of<op<add_op, double, in<double, 0>, in<double, 0>>, double, 0, double>;
  const Stream stream = cpu().create_stream(StreamOrder::independent);
  std::vector<double> x(100000, 1.0);
  MapCall call{&program_for<Twice>::value, 0, 100000, 0, Words(3)};
  call.words[0] = 100000;
  call.words[1] = call.words[2] = test::word(x.data());
  for (int i = 0; i < 10; ++i) cpu().map(call, stream);
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
  MapCall call{&program_for<Last>::value, 1, 1, 0, Words(24)};
  call.words[0] = call.words[12] = 1;
  for (std::size_t k = 0; k < 11; ++k) {
    x[k] = static_cast<double>(k);
    call.words[1 + k] = test::word(&x[k]);
    call.words[13 + k] = 8;
  }
  cpu().map(call, nullptr);
  EXPECT_EQ(x[0], 1.0 + 9.0 + 10.0);
}

}  // namespace
}  // namespace quarry::backend
