// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

namespace quarry {
namespace {

using test::counted;
using test::Ints;
using test::Random;
using test::Seen;
using test::values;

/// Two views of one base with the same shape, for an assignment from the one to the other.
struct Pair {
  DeviceNDArray<int> base;
  Ints shape;
  Seen<int> to, from;
};

/// The same elements in a buffer that has adopted their bytes and knows of no other.
Seen<int> adopted(const Seen<int>& seen) {
  const DeviceNDArray<int>& a = seen.array;
  const ByteBounds bounds = byte_bounds(a.layout(), sizeof(int));
  std::byte* const first = a.device_pointer() + bounds.lowest;
  const auto bytes = static_cast<std::size_t>(bounds.past - bounds.lowest);
  const auto buffer = Buffer::adopt(first, bytes, a.stream(), a.buffer());
  return {DeviceNDArray<int>(a.layout(), a.device_pointer(), buffer), seen.model};
}

Pair random_pair(Random& random) {
  const auto rank = static_cast<std::size_t>(random.between(1, 3));
  const std::int64_t most[] = {0, 40, 9, 6};
  Ints shape;
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(random.between(1, most[rank]));
  Pair pair{to_device(counted<int>(shape)), shape, {}, {}};
  const Seen<int> all{pair.base, test::whole(shape)};
  pair.to = pair.from = rank > 1 && random.coin() ? random.shuffle(all) : all;
  if (random.coin()) pair.from = random.shuffle(pair.from);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t n = pair.to.model.shape[d], m = pair.from.model.shape[d];
    const std::int64_t count = random.between(0, std::min(n, m));
    pair.to = random.cut(pair.to, d, random.exactly(count, n));
    const bool stretch = random.between(0, 7) == 0;  // broadcasts
    pair.from = random.cut(pair.from, d, random.exactly(stretch ? 1 : count, m));
  }
  if (random.coin()) pair.to = adopted(pair.to);
  if (random.coin()) pair.from = adopted(pair.from);
  return pair;
}

/// The position of the source for each of the destination's elements.
Ints sources(const Pair& p) {
  Ints list;
  const Ints &to = p.to.model.shape, &from = p.from.model.shape;
  Ints index(to.size(), 0);
  for (std::size_t k = 0; k < p.to.model.at.size(); ++k) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < to.size(); ++d) at = at * from[d] + (from[d] == 1 ? 0 : index[d]);
    list.push_back(p.from.model.at[static_cast<std::size_t>(at)]);
    for (std::size_t d = to.size(); d-- > 0 && ++index[d] == to[d];) index[d] = 0;
  }
  return list;
}

/// What the base holds after to = f(to, from) through a temporary.
template <class F>
std::vector<int> expected(const Pair& p, F f) {
  const std::vector<int> before = counted<int>(p.shape).list();
  std::vector<int> after = before;
  const Ints from = sources(p);
  for (std::size_t k = 0; k < from.size(); ++k) {
    const auto to = static_cast<std::size_t>(p.to.model.at[k]);
    after[to] = f(before[to], before[static_cast<std::size_t>(from[k])]);
  }
  return after;
}

class Overlap : public testing::Test {
 protected:
  template <class Assign, class F>
  void check(unsigned seed, int rounds, Assign assign, F f) {
    Random random(seed);
    for (int round = 0; round < (test::kind_is_slow() ? rounds / 50 : rounds); ++round) {
      const Pair p = random_pair(random);
      assign(p.to.array, p.from.array);
      ASSERT_EQ(values(p.base), expected(p, f))
          << "round " << round << ": base " << p.base.shape() << ", to " << p.to.array.shape()
          << p.to.array.strides() << ", from " << p.from.array.shape() << p.from.array.strides();
    }
  }
};

TEST_F(Overlap, CopiesOfRandomViewsAreAsIfThroughATemporary) {
  check(
      11, 10000, [](const auto& to, const auto& from) { to(ellipsis) = from; },
      [](int, int y) { return y; });
}

TEST_F(Overlap, ExpressionsOfRandomViewsAreAsIfThroughATemporary) {
  check(
      12, 10000, [](const auto& to, const auto& from) { to(ellipsis) = from * 2 + 1; },
      [](int, int y) { return 2 * y + 1; });
}

TEST_F(Overlap, InPlaceOperatorsOnRandomViewsAreAsIfThroughATemporary) {
  check(
      13, 10000, [](const auto& to, const auto& from) { to += from; },
      [](int x, int y) { return x + y; });
}

TEST_F(Overlap, CopiesByMemberAreAsIfThroughATemporary) {
  check(
      15, 5000,
      [](const auto& to, const auto& from) {
        if (to.shape() == from.shape()) return to.copy_to_device(from);
        to(ellipsis) = from;
      },
      [](int, int y) { return y; });
}

TEST_F(Overlap, RandomOverlapsOfBytesOfADifferentType) {
  // the same bytes seen as 8 and as 32 bits wide
  Random random(14);
  for (int round = 0; round < (test::kind_is_slow() ? 20 : 500); ++round) {
    const auto base = to_device(counted<std::uint8_t>({64}));
    const std::int64_t n = random.between(1, 12), to = random.between(0, 64 - n);
    const std::int64_t from = random.between(0, 16 - n);
    const DeviceNDArray<std::int32_t> words({Shape{n}, Strides{4}},
                                            base.device_pointer() + 4 * from, base.buffer());
    auto want = counted<std::uint8_t>({64}).list();
    for (std::int64_t k = 0; k < n; ++k) {
      want[static_cast<std::size_t>(to + k)] = static_cast<std::uint8_t>(4 * (from + k) + 1);
    }
    base(range(to, to + n)) = astype<std::uint8_t>(words + 1);
    ASSERT_EQ(values(base), want) << "round " << round;
  }
}

TEST(OverlapByHand, TheNextFromThePrevious) {
  const auto a = to_device(counted<int>({6}));
  a(range(1, _)) = a(range(_, -1));
  EXPECT_EQ(values(a), (std::vector{0, 0, 1, 2, 3, 4}));
  a(range(_, -1)) = a(range(1, _));
  EXPECT_EQ(values(a), (std::vector{0, 1, 2, 3, 4, 4}));
}

TEST(OverlapByHand, WithItsOwnTranspose) {
  const auto a = to_device(counted<int>({3, 3}));
  a += a.transpose();
  EXPECT_EQ(values(a), (std::vector{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  const auto b = to_device(counted<int>({2, 2}));
  b(all, all) = b.transpose();
  EXPECT_EQ(values(b), (std::vector{0, 2, 1, 3}));
}

TEST(OverlapByHand, ExactAliasNeedsNoTemporary) {
  const auto a = to_device(counted<double>({1000}));
  const auto warm = a + 1.0;
  a(all) = warm;
  const auto before = pool_statistics(a.device());
  a(all) = a * 2.0 + a;
  const auto after = pool_statistics(a.device());
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.held_bytes, before.held_bytes);
  EXPECT_EQ(a(10).item(), 33.0);
}

TEST(OverlapByHand, AStencilOverItself) {
  const std::int64_t n = 12;
  const auto u = to_device(counted<double>({n, n}));
  std::vector<double> h = counted<double>({n, n}).list();
  const auto in = range(1, -1);
  for (int step = 0; step < 3; ++step) {
    u(in, in) = 0.25 * (u(range(2, _), in) + u(range(_, -2), in) + u(in, range(2, _)) +
                        u(in, range(_, -2)));
    const auto old = h;
    const auto at = [&](std::int64_t i, std::int64_t j) {
      return old[static_cast<std::size_t>(i * n + j)];
    };
    for (std::int64_t i = 1; i + 1 < n; ++i) {
      for (std::int64_t j = 1; j + 1 < n; ++j) {
        h[static_cast<std::size_t>(i * n + j)] =
            0.25 * (at(i + 1, j) + at(i - 1, j) + at(i, j + 1) + at(i, j - 1));
      }
    }
  }
  EXPECT_EQ(values(u), h);
}

/// Views so large that several threads and tiles share them, and none is updated twice.
TEST(OverlapByHand, EveryElementOfALargeViewIsUpdatedOnce) {
  for (const Shape& shape : {Shape{3000, 700}, Shape{700, 3000}, Shape{2, 1'000'001}}) {
    const auto memory = zeros<int>({shape[0], 2 * shape[1]});
    auto steps = memory(all, range(_, _, 2));
    auto reversed = memory.transpose()(range(_, _, -2));
    for (int round = 1; round <= 3; ++round) steps += 1;
    reversed += 5;  // the other columns
    EXPECT_EQ(min(steps).item(), 3);
    EXPECT_EQ(max(steps).item(), 3);
    EXPECT_EQ(min(reversed).item(), 5);
    EXPECT_EQ(max(reversed).item(), 5);
  }
}

}  // namespace
}  // namespace quarry
