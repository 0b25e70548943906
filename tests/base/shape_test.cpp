// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/shape.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <random>
#include <sstream>
#include <type_traits>
#include <vector>

namespace quarry {
namespace {

constexpr std::int64_t int64_max = INT64_MAX;
constexpr std::int64_t two_to_62 = std::int64_t{1} << 62;

static_assert(sizeof(Dims) <= 88);
static_assert(std::is_nothrow_move_constructible_v<Dims>);
static_assert(std::is_nothrow_move_assignable_v<Dims>);
static_assert(!std::is_constructible_v<Extent, bool> && !std::is_constructible_v<Extent, double>);
static_assert(std::is_convertible_v<std::uint64_t, Extent> && std::is_convertible_v<short, Extent>);
static_assert(std::is_convertible_v<const Dims&, std::span<const std::int64_t>>);

std::vector<std::int64_t> to_vector(const Dims& dims) { return {dims.begin(), dims.end()}; }

TEST(shape, extents_come_from_any_integer) {
  const std::uint64_t largest = int64_max;
  const Shape shape{std::int8_t{3}, 4u, largest, std::size_t{5}, -1LL};
  EXPECT_EQ(to_vector(shape), (std::vector<std::int64_t>{3, 4, int64_max, 5, -1}));
  EXPECT_THROW((Shape{largest + 1}), ShapeError);
  EXPECT_THROW((Shape{2, std::uint64_t(-1)}), ShapeError);
  const std::vector<std::uint64_t> too_large{1, largest + 1};
  EXPECT_THROW(Shape(too_large.begin(), too_large.end()), ShapeError);
}

TEST(shape, is_constructible_from_spans_and_iterators) {
  const std::vector<std::int64_t> values{1, 2, 3};
  const std::list<int> list{1, 2, 3};
  EXPECT_EQ(Shape(std::span(values)), (Shape{1, 2, 3}));
  EXPECT_EQ(Shape(list.begin(), list.end()), (Shape{1, 2, 3}));
  EXPECT_EQ(Shape::filled(3, 7), (Shape{7, 7, 7}));
  EXPECT_TRUE(Shape().empty());
  EXPECT_NE((Shape{1, 2}), (Shape{1, 2, 3}));
  EXPECT_NE((Shape{1, 2}), (Shape{1, 3}));
}

TEST(shape, rank_is_at_most_32) {
  for (const std::size_t rank : {33u, 65u, 1'000'000u}) {
    const std::vector<std::int64_t> ones(rank, 1);
    EXPECT_THROW(Shape(std::span(ones)), ShapeError);
    EXPECT_THROW(Shape(ones.begin(), ones.end()), ShapeError);
    EXPECT_THROW(Shape::filled(rank, 1), ShapeError);
  }
  Shape full = Shape::filled(32, 1);
  EXPECT_THROW(full.push_back(1), ShapeError);
  EXPECT_EQ(full, Shape::filled(32, 1));
}

/// Against std::vector, over random edits that cross the border between inline and heap.
TEST(shape, edits_as_a_vector_does) {
  std::mt19937 random(1);
  Dims dims;
  std::vector<std::int64_t> expected;
  for (int step = 0; step < 20000; ++step) {
    const std::size_t at = random() % (expected.size() + 1);
    const auto place = expected.begin() + std::ptrdiff_t(at);
    if (random() % 2 == 0 && expected.size() < max_rank) {
      dims.insert(at, step);
      expected.insert(place, step);
    } else if (random() % 100 == 0) {
      dims.truncate(at);
      expected.resize(at);
    } else if (at < expected.size()) {
      dims.erase(at);
      expected.erase(place);
    }
    ASSERT_EQ(to_vector(dims), expected);
  }
}

TEST(shape, copies_and_moves_at_every_rank) {
  for (std::size_t rank = 0; rank <= max_rank; ++rank) {
    for (std::size_t other : {0u, 8u, 9u, 32u}) {
      const Dims original = Dims::filled(rank, 5);
      Dims copy = Dims::filled(other, 1);
      copy = original;
      EXPECT_EQ(copy, original);
      if (rank > 0) copy[0] = 6;
      EXPECT_EQ(original, Dims::filled(rank, 5));
      Dims moved = Dims::filled(other, 1);
      moved = std::move(copy);
      if (rank > 0) moved[0] = 5;
      EXPECT_EQ(Dims(std::move(moved)), original);
    }
  }
}

TEST(shape, prints_as_a_python_tuple) {
  EXPECT_EQ(to_string(Shape()), "()");
  EXPECT_EQ(to_string(Shape{3}), "(3,)");
  EXPECT_EQ(to_string(Shape{3, -4}), "(3, -4)");
  std::ostringstream out;
  out << Shape{1, 2, 3};
  EXPECT_EQ(out.str(), "(1, 2, 3)");
}

TEST(shape, counts_elements_and_bytes) {
  EXPECT_EQ(element_count(Shape()), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(byte_count({2, 3, 4}, 8), 192);
  EXPECT_EQ(element_count({int64_max}), int64_max);
}

TEST(shape, negative_extents_are_refused) {
  EXPECT_THROW(element_count({-1}), ShapeError);
  EXPECT_THROW(element_count({0, -1}), ShapeError);
  EXPECT_THROW(element_count({-2, -3}), ShapeError);
  EXPECT_THROW(element_count({INT64_MIN, INT64_MIN}), ShapeError);
}

TEST(shape, products_that_do_not_fit_are_refused) {
  const std::int64_t two_to_32 = std::int64_t{1} << 32;
  EXPECT_THROW(element_count({two_to_32, two_to_32}), SizeOverflow);
  EXPECT_THROW(element_count({two_to_62, 2}), SizeOverflow);
  // 2^64 + 4: wraps to a small positive number.
  EXPECT_THROW(element_count({2, 2, 5, 5581, 8681, 49477, 384773}), SizeOverflow);
  EXPECT_EQ(element_count({two_to_62}), two_to_62);
  EXPECT_THROW(byte_count({two_to_62}, 2), SizeOverflow);
  EXPECT_THROW(byte_count({1}, std::size_t(-1)), SizeOverflow);
  EXPECT_THROW(byte_count({4}, std::size_t{1} << 62), SizeOverflow);
}

TEST(shape, a_zero_extent_outweighs_the_others) {
  EXPECT_EQ(element_count({0}), 0);
  EXPECT_EQ(element_count({0, two_to_62, two_to_62}), 0);
  EXPECT_EQ(element_count({two_to_62, two_to_62, 0}), 0);
  EXPECT_EQ(byte_count({two_to_62, two_to_62, 0}, 16), 0);
}

TEST(shape, checked_arithmetic_agrees_with_wider_arithmetic) {
  __extension__ using Wide = __int128;
  const std::int64_t values[] = {INT64_MIN, INT64_MIN + 1, -two_to_62, -3037000500, -2, -1, 0, 1,
                                 2,         3037000499,    two_to_62,  int64_max};
  const auto expect = [](Wide exact, auto compute) {
    if (exact < INT64_MIN || exact > INT64_MAX) {
      EXPECT_THROW(compute(), SizeOverflow);
    } else {
      EXPECT_EQ(compute(), std::int64_t(exact));
    }
  };
  for (const std::int64_t a : values)
    for (const std::int64_t b : values) {
      expect(Wide(a) * b, [&] { return checked_mul(a, b); });
      expect(Wide(a) + b, [&] { return checked_add(a, b); });
    }
}

TEST(shape, places_that_are_not_there_are_refused) {
  Dims dims{3, 4};
  const Dims& same = dims;
  for (const std::size_t place :
       {std::size_t{2}, std::size_t{5}, std::size_t{1} << 40, ~std::size_t{}}) {
    EXPECT_THROW(dims[place], IndexError) << place;
    EXPECT_THROW(same[place], IndexError) << place;
  }
  EXPECT_THROW(Dims().back(), IndexError);
  EXPECT_THROW(Dims()[0], IndexError);
  EXPECT_EQ(same[1], 4);
  const Dims longest = Dims::filled(max_rank, 7);
  EXPECT_EQ(longest[max_rank - 1], 7);
  EXPECT_THROW(longest[max_rank], IndexError);
}

}  // namespace
}  // namespace quarry
