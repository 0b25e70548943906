// SPDX-License-Identifier: BSD-3-Clause
// The oracle is enumeration: every element's offset, in C order, by counting indices.
#include <quarry/base/error.hpp>
#include <quarry/base/layout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace quarry {
namespace {

constexpr std::int64_t two_to_62 = std::int64_t{1} << 62;

std::vector<std::int64_t> offsets(const Layout& layout, Order order = Order::c) {
  std::vector<std::int64_t> result{0};
  for (std::size_t step = 0; step < layout.rank(); ++step) {
    const std::size_t axis = order == Order::c ? step : layout.rank() - 1 - step;
    std::vector<std::int64_t> longer;
    for (const std::int64_t base : result)
      for (std::int64_t i = 0; i < layout.shape[axis]; ++i)
        longer.push_back(base + i * layout.strides[axis]);
    result = longer;
  }
  return result;
}

class Random {
 public:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }

  Shape shape(std::size_t max_dims, std::int64_t low, std::int64_t high) {
    Shape shape;
    for (auto rank = between(0, std::int64_t(max_dims)); rank > 0; --rank)
      shape.push_back(between(low, high));
    return shape;
  }

  /// A dense array, then sliced, transposed, reversed and stretched at random.
  Layout view(std::size_t itemsize) {
    Layout layout{shape(4, 0, 4), {}};
    layout.strides = dense_strides(layout.shape, itemsize, between(0, 1) ? Order::c : Order::f);
    for (std::size_t i = 0; i < layout.rank(); ++i) {
      const std::int64_t factor = between(0, 5) ? 1 : between(-2, 2);
      layout.strides[i] *= factor;
      if (between(0, 4)) continue;
      const auto j = std::size_t(between(0, std::int64_t(i)));
      std::swap(layout.shape[i], layout.shape[j]);
      std::swap(layout.strides[i], layout.strides[j]);
    }
    return layout;
  }

 private:
  std::mt19937_64 engine_{7};
};

TEST(layout, dense_strides_enumerate_consecutive_items) {
  Random random;
  for (int round = 0; round < 500; ++round) {
    const Shape shape = random.shape(5, 0, 4);
    for (const Order order : {Order::c, Order::f}) {
      const auto found = offsets({shape, dense_strides(shape, 6, order)}, order);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], std::int64_t(i) * 6);
    }
  }
  EXPECT_EQ(c_strides({3, 0, 5}, 8), (Strides{40, 40, 8}));
  EXPECT_EQ(f_strides({3, 4}, 8), (Strides{8, 24}));
}

TEST(layout, strides_overflow_only_with_elements) {
  EXPECT_THROW(c_strides({two_to_62, 4}, 1), SizeOverflow);
  EXPECT_THROW(f_strides({two_to_62}, 8), SizeOverflow);
  EXPECT_THROW(c_strides({-1}, 8), ShapeError);
  EXPECT_NO_THROW(c_strides({0, two_to_62, two_to_62}, 8));
  EXPECT_NO_THROW(f_strides({two_to_62, two_to_62, 0}, 8));
  EXPECT_EQ(c_strides({two_to_62}, 1), (Strides{1}));
}

TEST(layout, contiguous_means_consecutive_in_that_order) {
  Random random;
  int dense = 0;
  for (int round = 0; round < 5000; ++round) {
    const Layout layout = random.view(4);
    for (const Order order : {Order::c, Order::f}) {
      const auto found = offsets(layout, order);
      bool consecutive = true;
      for (std::size_t i = 0; i < found.size(); ++i)
        consecutive = consecutive && found[i] == std::int64_t(i) * 4;
      ASSERT_EQ(order == Order::c ? is_c_contiguous(layout, 4) : is_f_contiguous(layout, 4),
                consecutive)
          << layout.shape << layout.strides;
      dense += consecutive;
    }
  }
  EXPECT_GT(dense, 1000);
  EXPECT_TRUE(is_c_contiguous({{1, 3, 1}, {-999, 4, INT64_MIN}}, 4));
  EXPECT_FALSE(is_c_contiguous({{two_to_62, two_to_62}, {8, 4}}, 4));
}

TEST(layout, broadcast_is_commutative_and_reads_the_repeated_elements) {
  Random random;
  int compatible = 0;
  for (int round = 0; round < 3000; ++round) {
    const Layout a{random.shape(3, 0, 3), {}};
    const Shape b = random.shape(3, 0, 3);
    Shape expected = Shape::filled(std::max(a.rank(), b.size()), 1);
    bool fits = true;
    for (std::size_t i = 1; i <= expected.size(); ++i) {
      const std::int64_t x = i <= a.rank() ? a.shape[a.rank() - i] : 1;
      const std::int64_t y = i <= b.size() ? b[b.size() - i] : 1;
      fits = fits && (x == y || x == 1 || y == 1);
      expected[expected.size() - i] = x == 1 ? y : x;
    }
    if (!fits) {
      EXPECT_THROW(broadcast_shapes(a.shape, b), ShapeError);
      EXPECT_THROW(broadcast_shapes(b, a.shape), ShapeError);
      continue;
    }
    ++compatible;
    ASSERT_EQ(broadcast_shapes(a.shape, b), expected);
    ASSERT_EQ(broadcast_shapes(b, a.shape), expected);
    const Shape with_unit = expected.empty() ? Shape{1} : expected;
    ASSERT_EQ(broadcast_shapes(std::array{a.shape, b, Shape{}, Shape{1}}), with_unit);
    const Layout source{a.shape, c_strides(a.shape, 2)};
    const Layout seen = broadcast_to(source, expected);
    const std::size_t lead = expected.size() - a.rank();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool stretched = i < lead || a.shape[i - lead] != expected[i];
      ASSERT_EQ(seen.strides[i], stretched ? 0 : source.strides[i - lead]);
    }
  }
  EXPECT_GT(compatible, 500);
}

TEST(layout, shapes_that_do_not_broadcast_are_refused_in_each_position) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    Shape other{2, 3, 4, 5};
    other[axis] = 7;
    EXPECT_THROW(broadcast_shapes({2, 3, 4, 5}, other), ShapeError);
    EXPECT_THROW(broadcast_to({{2, 3, 4, 5}, {0, 0, 0, 0}}, other), ShapeError);
  }
  EXPECT_THROW(broadcast_to({{2, 3}, {3, 1}}, {3}), ShapeError);
  EXPECT_THROW(broadcast_to({{3}, {1}}, {1}), ShapeError);
  EXPECT_THROW(broadcast_to({{1}, {1}}, {-1}), ShapeError);
  try {
    broadcast_shapes({3, 4}, {2});
    FAIL() << "did not throw";
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(), "shapes (3, 4) and (2,) do not broadcast together");
  }
}

TEST(layout, a_broadcast_result_may_not_overflow) {
  const std::int64_t two_to_40 = std::int64_t{1} << 40;
  EXPECT_THROW(broadcast_shapes({two_to_40, 1}, {1, two_to_40}), SizeOverflow);
  EXPECT_THROW(broadcast_to({{1, 1}, {8, 8}}, {two_to_40, two_to_40}), SizeOverflow);
  EXPECT_EQ(broadcast_shapes({two_to_40, 1, 0}, {1, two_to_40, 1}),
            (Shape{two_to_40, two_to_40, 0}));
}

TEST(layout, byte_bounds_hold_exactly_the_elements) {
  Random random;
  for (int round = 0; round < 3000; ++round) {
    const Layout layout = random.view(4);
    const auto found = offsets(layout);
    const ByteBounds bounds = byte_bounds(layout, 4);
    if (found.empty()) {
      ASSERT_EQ(bounds, (ByteBounds{0, 0}));
    } else {
      const auto [low, high] = std::minmax_element(found.begin(), found.end());
      ASSERT_EQ(bounds, (ByteBounds{*low, *high + 4}));
    }
  }
}

TEST(layout, byte_bounds_overflow_only_where_an_element_is) {
  EXPECT_EQ(byte_bounds({{1, 2}, {INT64_MIN, 8}}, 8), (ByteBounds{0, 16}));
  EXPECT_EQ(byte_bounds({{0, 9}, {INT64_MAX, INT64_MIN}}, 8), (ByteBounds{0, 0}));
  EXPECT_EQ(byte_bounds({{2}, {INT64_MIN}}, 8), (ByteBounds{INT64_MIN, 8}));
  EXPECT_THROW(byte_bounds({{3}, {INT64_MIN}}, 8), SizeOverflow);
  EXPECT_THROW(byte_bounds({{3}, {two_to_62}}, 8), SizeOverflow);
  EXPECT_THROW(byte_bounds({{2, 2}, {two_to_62, two_to_62}}, 8), SizeOverflow);
  EXPECT_THROW(byte_bounds({{2, 2}, {INT64_MIN, -1}}, 8), SizeOverflow);
  EXPECT_THROW(byte_bounds({{2}, {INT64_MAX}}, 1), SizeOverflow);
  EXPECT_THROW(byte_bounds({{INT64_MIN}, {1}}, 1), ShapeError);
}

TEST(layout, axes_count_from_either_end) {
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (std::int64_t axis = -6; axis < 6; ++axis) {
      const auto n = std::int64_t(rank);
      if (axis < -n || axis >= n) {
        EXPECT_THROW(normalize_axis(axis, rank), ShapeError);
      } else {
        EXPECT_EQ(normalize_axis(axis, rank), std::size_t((axis + n) % n));
      }
    }
  }
  EXPECT_THROW(normalize_axis(INT64_MIN, 3), ShapeError);
  EXPECT_THROW(normalize_axis(INT64_MAX, 3), ShapeError);
  EXPECT_EQ(normalize_axes(Axes{-1, 0}, 3), (Axes{2, 0}));
  EXPECT_EQ(normalize_axes({}, 3), Axes{});
  EXPECT_THROW(normalize_axes(Axes{0, -3}, 3), ShapeError);
  EXPECT_THROW(normalize_axes(Axes{0, 1, 2, 3}, 3), ShapeError);
  const std::vector<std::int64_t> many(1000, 0);
  EXPECT_THROW(normalize_axes(many, 3), ShapeError);
}

TEST(layout, one_extent_may_be_inferred) {
  EXPECT_EQ(infer_shape({2, -1}, 6), (Shape{2, 3}));
  EXPECT_EQ(infer_shape({-1}, 0), (Shape{0}));
  EXPECT_EQ(infer_shape({-1, 3}, 0), (Shape{0, 3}));
  EXPECT_EQ(infer_shape({}, 1), Shape());
  EXPECT_EQ(infer_shape({2, 3}, 6), (Shape{2, 3}));
  EXPECT_THROW(infer_shape({2, 3}, 7), ShapeError);
  try {
    infer_shape({-1, -1}, 4);
    ADD_FAILURE() << "two unknown extents";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "only one extent may be -1, but the shape is (-1, -1)");
  }
  EXPECT_THROW(infer_shape({-1, 0}, 0), ShapeError);
  EXPECT_THROW(infer_shape({-1, 4}, 6), ShapeError);
  EXPECT_THROW(infer_shape({-2, 3}, 6), ShapeError);
  EXPECT_THROW(infer_shape({-1, -2}, 6), ShapeError);
  EXPECT_THROW(infer_shape({-1, two_to_62, two_to_62}, 6), ShapeError);
}

/// Strides for `shape` that give `wanted` in C order are forced, extent by extent, wherever an
/// extent is above 1: so that a no-copy reshape exists is decided by looking at the offsets.
bool can_be_seen_as(const std::vector<std::int64_t>& wanted, const Shape& shape, Order order) {
  Layout guess{shape, Strides::filled(shape.size(), 0)};
  std::size_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = order == Order::c ? shape.size() - 1 - i : i;
    if (shape[axis] > 1) guess.strides[axis] = wanted[step] - wanted[0];
    step *= std::size_t(shape[axis]);
  }
  return offsets(guess, order) == wanted;
}

TEST(layout, reshape_keeps_the_elements_and_is_found_whenever_it_exists) {
  Random random;
  int seen[2] = {0, 0};
  for (int round = 0; round < 30000; ++round) {
    const Layout layout = random.view(4);
    const std::int64_t count = element_count(layout.shape);
    const Shape shape = random.shape(4, 1, 6);
    if (element_count(shape) != count) continue;
    for (const Order order : {Order::c, Order::f}) {
      const auto wanted = offsets(layout, order);
      const auto strides = reshape_strides(layout, 4, shape, order);
      ASSERT_EQ(strides.has_value(), can_be_seen_as(wanted, shape, order))
          << layout.shape << layout.strides << " to " << shape;
      if (strides) {
        ASSERT_EQ(offsets({shape, *strides}, order), wanted);
      }
      ++seen[strides.has_value()];
    }
  }
  EXPECT_GT(seen[0], 100);
  EXPECT_GT(seen[1], 1000);
}

TEST(layout, reshape_of_a_dense_array_is_dense) {
  const Layout layout{{2, 3, 4}, c_strides({2, 3, 4}, 8)};
  for (const Shape& shape : {Shape{24}, Shape{1, 4, 1, 6, 1}, Shape{2, 2, 2, 3}, Shape{24, 1}})
    EXPECT_EQ(reshape_strides(layout, 8, shape), c_strides(shape, 8)) << shape;
  EXPECT_EQ(reshape_strides({{}, {}}, 8, {1, 1}), (Strides{8, 8}));
  EXPECT_EQ(reshape_strides({{0, 3}, {99, 99}}, 8, {3, 0}), c_strides({3, 0}, 8));
  EXPECT_THROW(reshape_strides(layout, 8, {5, 5}), ShapeError);
  EXPECT_THROW(reshape_strides(layout, 8, {-1}), ShapeError);
}

TEST(layout, collapse_keeps_every_operands_offsets_in_order) {
  Random random;
  for (int round = 0; round < 5000; ++round) {
    Layout a = random.view(4);
    Layout b{a.shape, c_strides(a.shape, 4)};
    if (round % 3 == 0)
      for (std::int64_t& s : b.strides) s *= random.between(0, 2);
    const auto want_a = offsets(a);
    const auto want_b = offsets(b);
    Shape shape = a.shape;
    collapse(shape, std::array{&a.strides, &b.strides});
    ASSERT_LE(shape.size(), a.rank());
    ASSERT_EQ(offsets({shape, a.strides}), want_a);
    ASSERT_EQ(offsets({shape, b.strides}), want_b);
    if (want_a.empty()) continue;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      ASSERT_GT(shape[i], 1);
      const auto joins = [&](const Strides& s) { return s[i - 1] == s[i] * shape[i]; };
      ASSERT_FALSE(i > 0 && joins(a.strides) && joins(b.strides));
    }
  }
}

TEST(layout, collapse_of_the_simple_cases) {
  const auto collapsed = [](Layout layout) {
    collapse(layout.shape, std::array{&layout.strides});
    return layout;
  };
  EXPECT_EQ(collapsed({Shape::filled(12, 2), c_strides(Shape::filled(12, 2), 8)}),
            (Layout{{4096}, {8}}));
  EXPECT_EQ(collapsed({{1, 1}, {8, INT64_MIN}}), (Layout{{}, {}}));
  EXPECT_EQ(collapsed({{two_to_62, 0}, {8, 8}}), (Layout{{0}, {0}}));
  EXPECT_EQ(collapsed({{4, 5}, {0, 0}}), (Layout{{20}, {0}}));
  const std::int64_t two_to_40 = std::int64_t{1} << 40;
  EXPECT_EQ(collapsed({{two_to_40, two_to_40}, {0, 0}}).rank(), 2u);
  EXPECT_EQ(collapsed({{2, 3}, {0, INT64_MAX}}).rank(), 2u);
}

TEST(layout, sort_axes_permutes_all_operands_alike) {
  Random random;
  for (int round = 0; round < 3000; ++round) {
    const Layout a = random.view(4);
    Layout sorted = a;
    Strides tags;
    for (std::size_t i = 0; i < a.rank(); ++i) tags.push_back(std::int64_t(i));
    sort_axes(sorted.shape, std::array{&sorted.strides, &tags});
    for (std::size_t i = 0; i < a.rank(); ++i) {
      const auto from = std::size_t(tags[i]);
      ASSERT_EQ(sorted.shape[i], a.shape[from]);
      ASSERT_EQ(sorted.strides[i], a.strides[from]);
      if (i == 0) continue;
      const auto before = std::abs(sorted.strides[i - 1]);
      ASSERT_GE(before, std::abs(sorted.strides[i]));
      if (before == std::abs(sorted.strides[i])) {
        ASSERT_LT(tags[i - 1], tags[i]);
      }
    }
  }
  Layout extreme{{2, 3}, {INT64_MAX, INT64_MIN}};
  sort_axes(extreme.shape, std::array{&extreme.strides});
  EXPECT_EQ(extreme, (Layout{{3, 2}, {INT64_MIN, INT64_MAX}}));
}

}  // namespace
}  // namespace quarry
