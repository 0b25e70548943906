// SPDX-License-Identifier: BSD-3-Clause
// The oracle marks every byte of every element.
#include <quarry/base/error.hpp>
#include <quarry/base/overlap.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace quarry {
namespace {

struct Placed {
  std::int64_t start;
  Layout layout;
  std::int64_t itemsize;

  const std::byte* address() const {
    return reinterpret_cast<const std::byte*>(std::uintptr_t{1} << 40) + start;
  }
};

std::ostream& operator<<(std::ostream& out, const Placed& p) {
  return out << "[at " << p.start << ", " << p.layout.shape << p.layout.strides << " of "
             << p.itemsize << "]";
}

Overlap overlap_of(const Placed& a, const Placed& b, std::int64_t max_work = 10000) {
  return overlap(a.address(), a.layout, std::size_t(a.itemsize), b.address(), b.layout,
                 std::size_t(b.itemsize), max_work);
}

/// How many elements hold each byte.
std::map<std::int64_t, int> bytes_of(const Placed& p) {
  std::vector<std::int64_t> starts{p.start};
  for (std::size_t axis = 0; axis < p.layout.rank(); ++axis) {
    std::vector<std::int64_t> longer;
    for (const std::int64_t s : starts)
      for (std::int64_t i = 0; i < p.layout.shape[axis]; ++i)
        longer.push_back(s + i * p.layout.strides[axis]);
    starts = longer;
  }
  std::map<std::int64_t, int> count;
  for (const std::int64_t s : starts)
    for (std::int64_t byte = 0; byte < p.itemsize; ++byte) ++count[s + byte];
  return count;
}

bool share_a_byte(const Placed& a, const Placed& b) {
  const auto bytes = bytes_of(a);
  for (const auto& [byte, count] : bytes_of(b))
    if (bytes.count(byte) != 0) return true;
  return false;
}

class Random {
 public:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

  Placed array() {
    Placed p{between(-30, 30), {}, std::int64_t{1} << between(0, 3)};
    // Multiples of a common factor leave gaps that only divisibility sees.
    const std::int64_t factor = between(0, 1) ? p.itemsize : between(1, 12);
    for (auto rank = between(0, 3); rank > 0; --rank) {
      p.layout.shape.push_back(between(between(0, 9) ? 1 : 0, 5));
      p.layout.strides.push_back(between(-8, 8) * factor);
    }
    return p;
  }

 private:
  std::mt19937_64 engine_{11};
};

TEST(overlap, agrees_with_brute_force) {
  Random random;
  int seen[2] = {0, 0};
  for (int round = 0; round < 40000; ++round) {
    const Placed a = random.array();
    const Placed b = random.array();
    const bool expected = share_a_byte(a, b);
    ASSERT_EQ(overlap_of(a, b), expected ? Overlap::overlapping : Overlap::disjoint) << a << b;
    ASSERT_EQ(overlap_of(b, a), overlap_of(a, b)) << a << b;
    ++seen[expected];
  }
  EXPECT_GT(seen[0], 5000);
  EXPECT_GT(seen[1], 5000);
}

TEST(overlap, is_never_wrong_with_little_work) {
  Random random;
  int unknown = 0;
  for (int round = 0; round < 20000; ++round) {
    const Placed a = random.array();
    const Placed b = random.array();
    const Overlap found = overlap_of(a, b, round % 3);
    unknown += found == Overlap::unknown;
    if (found == Overlap::unknown) continue;
    ASSERT_EQ(found == Overlap::overlapping, share_a_byte(a, b)) << a << b;
  }
  EXPECT_GT(unknown, 100);
}

TEST(overlap, with_itself_agrees_with_brute_force) {
  Random random;
  int seen[2] = {0, 0};
  for (int round = 0; round < 20000; ++round) {
    const Placed a = random.array();
    bool expected = false;
    for (const auto& [byte, count] : bytes_of(a)) expected = expected || count > 1;
    ASSERT_EQ(overlaps_itself(a.layout, std::size_t(a.itemsize)), expected) << a;
    ++seen[expected];
  }
  EXPECT_GT(seen[0], 2000);
  EXPECT_GT(seen[1], 2000);
}

TEST(overlap, of_the_usual_views) {
  const auto column = [](std::int64_t j) { return Placed{j * 8, {{100}, {80}}, 8}; };
  EXPECT_EQ(overlap_of(column(0), column(1)), Overlap::disjoint);
  EXPECT_EQ(overlap_of(column(3), column(3)), Overlap::overlapping);
  const Placed even{0, {{50}, {16}}, 8};
  const Placed odd{8, {{50}, {16}}, 8};
  EXPECT_EQ(overlap_of(even, odd), Overlap::disjoint);
  const Placed backwards{99 * 8, {{100}, {-8}}, 8};
  EXPECT_EQ(overlap_of(backwards, odd), Overlap::overlapping);
  const Placed empty{0, {{0, 5}, {8, 8}}, 8};
  EXPECT_EQ(overlap_of(empty, even), Overlap::disjoint);
  const Placed row{0, {{10}, {8}}, 8};
  EXPECT_EQ(overlap_of({0, {{3, 10}, {0, 8}}, 8}, row), Overlap::overlapping);
}

TEST(overlap, of_huge_arrays_needs_no_enumeration) {
  const std::int64_t n = std::int64_t{1} << 40;
  const Placed even{0, {{n, 4}, {64, 2}}, 1};
  const Placed odd{1, {{n, 4}, {64, 2}}, 1};
  EXPECT_EQ(overlap_of(even, odd, 1), Overlap::disjoint);
  EXPECT_EQ(overlap_of(even, {2, {{n, 4}, {64, 2}}, 1}, 100), Overlap::overlapping);
  EXPECT_FALSE(overlaps_itself({{n, 8}, {64, 8}}, 8));
  EXPECT_TRUE(overlaps_itself({{n, 9}, {64, 8}}, 8));
}

TEST(overlap, with_itself_counts_repeated_axes_only_if_they_repeat) {
  EXPECT_TRUE(overlaps_itself({{3, 4}, {0, 8}}, 8));
  EXPECT_FALSE(overlaps_itself({{1, 4}, {0, 8}}, 8));
  EXPECT_FALSE(overlaps_itself({{3, 0}, {0, 8}}, 8));
  EXPECT_FALSE(overlaps_itself({{}, {}}, 8));
  EXPECT_FALSE(overlaps_itself({{4}, {-8}}, 8));
  EXPECT_TRUE(overlaps_itself({{4}, {-7}}, 8));
}

TEST(overlap, refuses_offsets_that_do_not_fit) {
  const Placed huge{0, {{3}, {INT64_MAX}}, 1};
  const Placed small{0, {{1}, {INT64_MIN}}, 1};
  EXPECT_THROW(overlap_of(huge, small), SizeOverflow);
  EXPECT_THROW(overlaps_itself(huge.layout, 1), SizeOverflow);
  EXPECT_EQ(overlap_of(small, small), Overlap::overlapping);
}

}  // namespace
}  // namespace quarry
