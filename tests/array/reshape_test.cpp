// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

namespace quarry {
namespace {

using test::counted;
using test::Ints;
using test::Random;
using test::Seen;
using test::values;

TEST(Reshape, InfersOneExtent) {
  const auto a = to_device(counted<int>({3, 4, 5}));
  EXPECT_EQ(a.reshape({5, -1, 4}).shape(), (Shape{5, 3, 4}));
  EXPECT_EQ(a.reshape({-1}).shape(), (Shape{60}));
  EXPECT_EQ(a.reshape({3, -1}).shape(), (Shape{3, 20}));
  EXPECT_EQ(values(a.reshape({12, -1})), counted<int>({60}).list());
}

TEST(Reshape, ShapesThatDoNotFitAreRefused) {
  const auto a = zeros<int>({3, 4, 5});
  EXPECT_THROW(a.reshape({-1, -1}), ShapeError);
  EXPECT_THROW(a.reshape({-1, 7}), ShapeError);
  EXPECT_THROW(a.reshape({61}), ShapeError);
  EXPECT_THROW(a.reshape({}), ShapeError);
  EXPECT_THROW(a.reshape({-2, 30}), ShapeError);
  EXPECT_THROW(a.reshape({-1, 0}), ShapeError);
  EXPECT_THROW(a.reshape({std::int64_t{1} << 62, -1, 4}), ShapeError);
  EXPECT_THROW(zeros<int>({0}).reshape({-1, 0}), ShapeError);
  EXPECT_EQ(zeros<int>({0, 3}).reshape({-1, 5}).shape(), (Shape{0, 5}));
}

TEST(Reshape, ContiguousArraysGiveViews) {
  const auto a = to_device(counted<int>({4, 5}));
  const auto b = a.reshape({5, 2, 2});
  b(0, 0, 0) = -1;
  EXPECT_EQ(a(0, 0).item(), -1);
  EXPECT_EQ(b.strides(), (Strides{16, 8, 4}));
}

TEST(Reshape, ACopyDoesNotWriteThrough) {
  const auto a = to_device(counted<int>({4, 5}));
  const auto flat = a.transpose().reshape({20});
  EXPECT_NE(flat.buffer(), a.buffer());
  flat.fill(0);
  EXPECT_EQ(values(a), counted<int>({20}).list());
}

TEST(Reshape, FortranOrderReadsAndWritesTheFirstAxisFirst) {
  const auto a = to_device(counted<int>({10}));
  EXPECT_EQ(values(a.reshape({2, 5}, Order::f)), (std::vector{0, 2, 4, 6, 8, 1, 3, 5, 7, 9}));
  const auto b = to_device(counted<int>({2, 3}));
  EXPECT_EQ(values(b.ravel(Order::f)), (std::vector{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(b.reshape({3, 2}, Order::f)), (std::vector{0, 4, 3, 2, 1, 5}));
  const auto f = b.transpose();
  EXPECT_EQ(f.ravel(Order::f).buffer(), b.buffer());
}

TEST(Reshape, OrderAFollowsTheMemory) {
  const auto c = to_device(counted<int>({2, 3}));
  const auto f = c.transpose();
  EXPECT_EQ(values(c.ravel(Order::a)), (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values(f.ravel(Order::a)), (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(f.ravel(Order::a).buffer(), c.buffer());
  EXPECT_EQ(values(c(all, range(_, _, 2)).ravel(Order::a)), (std::vector{0, 2, 3, 5}));
  EXPECT_EQ(values(f.reshape({2, 3}, Order::a)), (std::vector{0, 2, 4, 1, 3, 5}));
}

TEST(Reshape, RavelIsAViewWhereItCanBeAndFlattenNever) {
  const auto a = to_device(counted<int>({2, 5, 2}));
  EXPECT_EQ(a.ravel().device_pointer(), a.device_pointer());
  EXPECT_EQ(values(a.ravel()), counted<int>({20}).list());
  EXPECT_NE(a.flatten().device_pointer(), a.device_pointer());
  const auto every_second = a(all, range(_, _, 2));
  EXPECT_EQ(values(every_second.ravel()), (std::vector{0, 1, 4, 5, 8, 9, 10, 11, 14, 15, 18, 19}));
  EXPECT_EQ(values(every_second.flatten()), values(every_second.ravel()));
  EXPECT_EQ(values(to_device({1, 2, 3}).ravel()), (std::vector{1, 2, 3}));
}

/// Whether some strides show the elements that lie at `offsets` as `shape`, by trying: the stride
/// of an axis is the distance to its second element.
bool some_strides_fit(const Ints& shape, const Ints& offsets) {
  Ints place(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) place[d - 1] = place[d] * shape[d];
  for (std::size_t k = 0; k < offsets.size(); ++k) {
    std::int64_t want = offsets[0], rest = static_cast<std::int64_t>(k);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t i = rest / place[d];
      rest %= place[d];
      if (shape[d] > 1) want += i * (offsets[static_cast<std::size_t>(place[d])] - offsets[0]);
    }
    if (want != offsets[k]) return false;
  }
  return true;
}

/// A random factorisation of n, in random order, with unit extents.
Ints random_shape(Random& random, std::int64_t n) {
  Ints shape;
  for (std::int64_t p = 2; n > 1; ++p) {
    for (; n % p == 0; n /= p) {
      if (!shape.empty() && random.coin()) {
        shape.back() *= p;
      } else {
        shape.push_back(p);
      }
    }
  }
  if (random.coin()) shape.push_back(1);
  std::shuffle(shape.begin(), shape.end(), random.engine());
  return shape;
}

TEST(Reshape, IsAViewExactlyWhereStridesExist) {
  Random random(2);
  const int rounds = test::kind_is_slow() ? 100 : 4000;
  int views = 0, copies = 0;
  for (int round = 0; round < rounds; ++round) {
    Ints shape;
    for (auto rank = random.between(1, 4); rank > 0; --rank) shape.push_back(random.between(1, 6));
    Seen<int> seen{to_device(counted<int>(shape)), test::whole(shape)};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t count = random.coin() ? shape[d] : random.between(1, shape[d]);
      seen = random.cut(seen, d, random.exactly(count, shape[d]));
    }
    if (random.coin()) seen = random.shuffle(seen);
    const Ints to = random_shape(random, static_cast<std::int64_t>(seen.model.at.size()));
    const auto got = seen.array.reshape(test::as_shape(to));
    const auto list = values(got);
    ASSERT_TRUE(std::equal(list.begin(), list.end(), seen.model.at.begin(), seen.model.at.end()));
    const bool is_view = got.buffer() == seen.array.buffer();
    ASSERT_EQ(is_view, some_strides_fit(to, seen.model.at)) << "round " << round;
    ++(is_view ? views : copies);
  }
  EXPECT_GT(views, rounds / 10);
  EXPECT_GT(copies, rounds / 10);
}

TEST(Reshape, FortranOrderOfRandomViews) {
  Random random(3);
  const int rounds = test::kind_is_slow() ? 50 : 1000;
  for (int round = 0; round < rounds; ++round) {
    const Ints shape = random.shape(3, 4);
    const Seen<int> seen =
        random.slice(Seen<int>{to_device(counted<int>(shape)), test::whole(shape)});
    // ravel('F') is the C order of the transpose
    const auto flat = values(seen.array.ravel(Order::f));
    const auto want = test::permute(seen.model, {2, 1, 0}).at;
    ASSERT_TRUE(std::equal(flat.begin(), flat.end(), want.begin(), want.end()));
    if (want.empty()) continue;
    Ints to = random_shape(random, static_cast<std::int64_t>(want.size()));
    const auto back = values(seen.array.reshape(test::as_shape(to), Order::f).ravel(Order::f));
    ASSERT_TRUE(std::equal(back.begin(), back.end(), want.begin(), want.end()));
  }
}

TEST(Ravel, InAStreamIsBoundToIt) {
  const auto a = arange<int>(12).reshape({3, 4});
  default_stream().synchronize();
  const auto given = stream(), other = stream();
  const StreamGuard guard(other);
  for (const Order order : {Order::c, Order::f}) {
    const auto flat = a.ravel(given, order);
    EXPECT_EQ(flat.stream(), given);
    given.synchronize();
    EXPECT_EQ(values(flat), values(a.ravel(order)));
  }
  EXPECT_EQ(a.ravel(given).buffer(), a.buffer());
  EXPECT_EQ(a.ravel(given, Order::f).buffer()->stream(), given);
}

TEST(Split, InAStreamIsBoundToIt) {
  const auto a = arange<int>(5);
  default_stream().synchronize();
  const auto given = stream();
  const auto parts = a.split(2, given);
  ASSERT_EQ(parts.size(), 3u);
  for (const auto& part : parts) EXPECT_EQ(part.stream(), given);
  given.synchronize();
  EXPECT_EQ(values(parts[2]), std::vector<int>{4});
}

}  // namespace
}  // namespace quarry
