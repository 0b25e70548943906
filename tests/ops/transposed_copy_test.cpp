// SPDX-License-Identifier: BSD-3-Clause
// Copies of transposed arrays, and sums with them, that are large enough for full tiles on every
// multiprocessor of a GPU.
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace quarry {
namespace {

using test::Ints;

class TransposedCopies {
 public:
  explicit TransposedCopies(unsigned seed) : random_(seed) {}

  /// Axes of 2 to some thousand elements, some 2.3 million in all: short ones are as frequent as
  /// long ones.
  Ints draw_shape() {
    constexpr double elements = 2.3e6;
    const std::int64_t rank = random_.between(2, 4);
    Ints shape;
    double left = elements;
    for (std::int64_t axes = rank; axes > 1; --axes) {
      const double most = std::log(left) - 0.7 * static_cast<double>(axes - 1);
      const double part = static_cast<double>(random_.between(0, 1000)) / 1000;
      shape.push_back(static_cast<std::int64_t>(std::exp(0.7 + part * (most - 0.7))));
      left /= static_cast<double>(shape.back());
    }
    shape.push_back(static_cast<std::int64_t>(left));
    std::ranges::shuffle(shape, random_.engine());
    return shape;
  }
  Ints draw_order(std::size_t rank) {
    Ints order(rank);
    std::iota(order.rbegin(), order.rend(), 0);
    if (random_.coin()) std::ranges::shuffle(order, random_.engine());
    return order;
  }

  /// Of memory that begins at some element, and ends with the array, into such memory with others
  /// around it.
  template <class T>
  void expect_copy() {
    const Ints shape = draw_shape(), order = draw_order(shape.size());
    SCOPED_TRACE(testing::PrintToString(shape) + ".transpose" + testing::PrintToString(order));
    test::Host<T> host(shape);
    for (std::size_t i = 0; i < host.count(); ++i) {
      host[i] = static_cast<T>(i * 0x9e3779b97f4a7c15u >> 40);
    }
    const std::vector<std::size_t> axes(order.begin(), order.end());
    const test::Model copied = test::permute(test::whole(shape), axes);
    const auto count = static_cast<std::int64_t>(host.count()), before = random_.between(0, 33);
    constexpr std::int64_t after = 40;
    const std::int64_t first = random_.between(0, 9);
    const auto input = zeros<T>({first + count})(range(first, _)).reshape(shape);
    input.assign(to_device(host));
    auto memory = zeros<T>({before + count + after});
    memory(Range{before, before + count, 1}).reshape(copied.shape)(quarry::all) =
        input.transpose(order);
    const auto result = test::read(memory);
    std::vector<T> expected(result.count(), T(0));
    std::ranges::transform(copied.at, expected.begin() + before,
                           [&](std::int64_t at) { return host[static_cast<std::size_t>(at)]; });
    EXPECT_TRUE(result.list() == expected);
  }

  /// Of an array that lies as the sum does, in memory of this kind, with a transposed one.
  template <class T>
  void expect_sum(const Resource& resource) {
    const Ints shape = draw_shape();
    SCOPED_TRACE(testing::PrintToString(shape) + " in " + resource.name());
    test::Host<T> dense(shape), reversed(Ints(shape.rbegin(), shape.rend()));
    for (std::size_t i = 0; i < dense.count(); ++i) {
      dense[i] = static_cast<T>(i * 0x9e3779b97f4a7c15u >> 41);
      reversed[i] = static_cast<T>(i * 0xc2b2ae3d27d4eb4fu >> 41);
    }
    const auto count = static_cast<std::int64_t>(dense.count());
    const auto a = [&] {
      const ResourceGuard guard(resource);
      const auto memory = empty<T>({count + 16});  // its last vector has all elements
      return memory(range(_, count)).reshape(shape);
    }();
    a.assign(to_device(dense));
    const auto result = test::read(DeviceNDArray<T>(a + to_device(reversed).transpose()));
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.rbegin(), axes.rend(), std::size_t{0});
    const test::Model turned = test::permute(test::whole(Ints(shape.rbegin(), shape.rend())), axes);
    for (std::size_t i = 0; i < result.count(); ++i) {
      const T other = reversed[static_cast<std::size_t>(turned.at[i])];
      ASSERT_EQ(result[i], static_cast<T>(dense[i] + other)) << i;
    }
  }

 private:
  test::Random random_;
};

TEST(TransposedCopy, OfBytesAndHalves) {
  TransposedCopies drawn(20);
  for (int round = 0; round < 12; ++round) {
    drawn.expect_copy<std::int8_t>();
    drawn.expect_copy<std::int16_t>();
  }
}

TEST(TransposedCopy, OfWordsAndPairsOfThem) {
  TransposedCopies drawn(21);
  for (int round = 0; round < 4; ++round) {
    drawn.expect_copy<std::int32_t>();
    drawn.expect_copy<std::int64_t>();
  }
}

TEST(TransposedSum, OfArraysInEveryKindOfMemory) {
  TransposedCopies drawn(23);
  for (const Resource& resource : {current_resource(), mapped_resource(), managed_resource()}) {
    for (int round = 0; round < 4; ++round) {
      drawn.expect_sum<std::int8_t>(resource);
      drawn.expect_sum<std::int16_t>(resource);
    }
    drawn.expect_sum<float>(resource);
    drawn.expect_sum<double>(resource);
  }
}

}  // namespace
}  // namespace quarry
