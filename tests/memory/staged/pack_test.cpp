// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/pack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace quarry::memory {
namespace {

struct Case {
  Shape shape;
  Strides strides;
  std::size_t itemsize;
};

/// The bytes of every element, in the order of the addresses, by plain loops.
std::vector<std::int64_t> places(const Case& c) {
  std::vector<std::int64_t> first{0};
  std::vector<std::size_t> order(c.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return c.strides[a] > c.strides[b]; });
  for (const std::size_t d : order) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : first) {
      for (std::int64_t i = 0; i < c.shape[d]; ++i) next.push_back(at + i * c.strides[d]);
    }
    first = std::move(next);
  }
  std::vector<std::int64_t> all;
  for (const std::int64_t at : first) {
    for (std::size_t b = 0; b < c.itemsize; ++b) all.push_back(at + std::int64_t(b));
  }
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t s : {1, 2, 3, 4, 5, 8, 12, 16, 20, 100, 600}) {
    const auto w = static_cast<std::size_t>(s);
    all.push_back({{}, {}, w});
    all.push_back({{7}, {s}, w});
    all.push_back({{7}, {2 * s}, w});
    all.push_back({{7}, {3 * s}, w});
    all.push_back({{75}, {2 * s}, w});
    all.push_back({{75}, {3 * s}, w});
    all.push_back({{80}, {s + 1}, w});
    all.push_back({{3, 70}, {200 * s, 2 * s}, w});
    all.push_back({{3, 70}, {250 * s, 3 * s}, w});
    all.push_back({{2, 1500}, {4600 * s, 3 * s}, w});
    all.push_back({{5, 6}, {8 * s, s}, w});
    all.push_back({{6, 5}, {s, 8 * s}, w});
    all.push_back({{5, 6}, {14 * s, 2 * s}, w});
    all.push_back({{3, 1, 4, 5}, {60 * s, 7 * s, 12 * s, 2 * s}, w});
    all.push_back({{2, 3, 2, 4}, {100 * s, 30 * s, 9 * s, s}, w});
    all.push_back({{4, 3, 5}, {s, 20 * s, 4 * s}, w});
  }
  return all;
}

TEST(Gather, EveryRangeOfThePackedBytes) {
  std::mt19937 random(7);
  for (const Case& c : cases()) {
    const Walk walk = walk_of(c.shape, c.strides, c.itemsize);
    const auto want = places(c);
    ASSERT_EQ(walk.bytes(), want.size());
    std::vector<std::byte> memory(static_cast<std::size_t>(want.back()) + 1);
    for (std::byte& b : memory) b = static_cast<std::byte>(random());
    for (int round = 0; round < 20; ++round) {
      std::size_t first = random() % (want.size() + 1), last = random() % (want.size() + 1);
      if (first > last) std::swap(first, last);
      if (round == 0) first = 0, last = want.size();
      std::vector<std::byte> packed(last - first + 2, std::byte{0x5A});
      pack(walk, memory.data(), first, last, packed.data() + 1,
           round % 2 == 0 ? Stores::nontemporal : Stores::cached);
      ASSERT_EQ(packed.front(), std::byte{0x5A});
      ASSERT_EQ(packed.back(), std::byte{0x5A});
      for (std::size_t i = first; i < last; ++i) {
        ASSERT_EQ(packed[i - first + 1], memory[static_cast<std::size_t>(want[i])]);
      }
    }
  }
}

TEST(Scatter, EveryRangeAndNothingElse) {
  std::mt19937 random(8);
  for (const Case& c : cases()) {
    const Walk walk = walk_of(c.shape, c.strides, c.itemsize);
    const auto want = places(c);
    std::vector<std::byte> memory(static_cast<std::size_t>(want.back()) + 1, std::byte{0x5A});
    std::vector<std::byte> expected = memory, packed(want.size());
    for (std::byte& b : packed) b = static_cast<std::byte>(random());
    const std::size_t cut = random() % (want.size() + 1), stop = (cut + want.size()) / 2;
    for (std::size_t i = 0; i < stop; ++i) expected[static_cast<std::size_t>(want[i])] = packed[i];
    for (const Stores stores : {Stores::cached, Stores::nontemporal}) {
      std::vector<std::byte> got = memory;
      unpack(walk, got.data(), 0, cut, packed.data(), stores);
      unpack(walk, got.data(), cut, stop, packed.data() + cut, stores);
      ASSERT_EQ(got, expected);
    }
  }
}

TEST(Walk, MergesWhatLiesSideBySide) {
  EXPECT_TRUE(walk_of({4, 5}, {20, 4}, 4).is_dense());
  EXPECT_TRUE(walk_of({4, 5}, {4, 16}, 4).is_dense());
  const Walk rows = walk_of({4, 5, 6}, {480, 24, 4}, 4);
  EXPECT_EQ(rows.shape, (Shape{4}));
  EXPECT_EQ(rows.run, 120u);
  const Walk steps = walk_of({4, 5}, {80, 8}, 4);
  EXPECT_EQ(steps.run, 4u);
  EXPECT_EQ(steps.shape, (Shape{4, 5}));
}

TEST(Walk, RunsInOrder) {
  const Walk walk = walk_of({2, 3}, {100, 10}, 4);
  std::byte* const base = nullptr;
  std::vector<std::int64_t> at;
  for_each_run(walk, base, [&](std::byte* run) { at.push_back(run - base); });
  EXPECT_EQ(at, (std::vector<std::int64_t>{0, 10, 20, 100, 110, 120}));
}

}  // namespace
}  // namespace quarry::memory
