// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/layout.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "base/byte_bounds.hpp"

namespace quarry {

namespace {

std::size_t axis_at(std::size_t step, std::size_t rank, Order order) {
  return order == Order::f ? step : rank - 1 - step;
}

bool is_dense(const Layout& layout, std::size_t itemsize, Order order) {
  auto expected = std::int64_t(itemsize);
  bool matches = true;
  for (std::size_t step = 0; step < layout.rank(); ++step) {
    const std::size_t axis = axis_at(step, layout.rank(), order);
    const std::int64_t extent = layout.shape[axis];
    if (extent == 0) return true;
    if (extent == 1 || !matches) continue;
    matches =
        layout.strides[axis] == expected && !__builtin_mul_overflow(expected, extent, &expected);
  }
  return matches;
}

std::string names(std::span<const Shape> shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : " and ") + to_string(shape);
  return text;
}

bool has_no_elements(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// False if `shape` does not broadcast with `result`, which is then invalid.
bool broadcast_into(Shape& result, const Shape& shape) {
  while (result.size() < shape.size()) result.insert(0, 1);
  const std::size_t lead = result.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t& extent = result[lead + i];
    if (extent == shape[i] || shape[i] == 1) continue;
    if (extent != 1) return false;
    extent = shape[i];
  }
  return true;
}

Layout reversed(Layout layout) {
  std::reverse(layout.shape.begin(), layout.shape.end());
  std::reverse(layout.strides.begin(), layout.strides.end());
  return layout;
}

/// In C order: whether one step along `outer` is `extent` steps along the axis `inner` for all.
bool merges(std::span<Strides* const> strides, std::size_t outer, std::size_t inner,
            std::int64_t extent) {
  return std::all_of(strides.begin(), strides.end(), [&](const Strides* s) {
    std::int64_t span = 0;
    return !__builtin_mul_overflow((*s)[inner], extent, &span) && (*s)[outer] == span;
  });
}

/// Splits the axes of `blocks`, which do not merge, into `shape` from the last axis on. An axis of
/// `shape` must lie within one block.
std::optional<Strides> cut(const Layout& blocks, std::size_t itemsize, const Shape& shape) {
  Strides strides = Strides::filled(shape.size(), 0);
  std::size_t block = blocks.rank();
  std::int64_t left = 1;
  auto stride = std::int64_t(itemsize);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && left == 1) {
      --block;
      left = blocks.shape[block];
      stride = blocks.strides[block];
    }
    if (left % shape[axis] != 0) return std::nullopt;
    strides[axis] = stride;
    left /= shape[axis];
    // Past the last element the product may overflow; only a unit axis can still use it.
    if (__builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;
  }
  return strides;
}

}  // namespace

Strides dense_strides(const Shape& shape, std::size_t itemsize, Order order) {
  Strides strides = Strides::filled(shape.size(), 0);
  auto stride = std::int64_t(itemsize);
  bool fits = stride >= 0;
  for (std::size_t step = 0; step < shape.size(); ++step) {
    const std::size_t axis = axis_at(step, shape.size(), order);
    strides[axis] = stride;
    fits = fits && shape[axis] > 0;
    const std::int64_t extent = std::max<std::int64_t>(shape[axis], 1);
    // The product overflows only without elements; then any stride is valid.
    if (__builtin_mul_overflow(stride, extent, &stride)) stride = 0, fits = false;
  }
  if (!fits) byte_count(shape, itemsize);  // throws, unless there are no elements
  return strides;
}

Strides c_strides(const Shape& shape, std::size_t itemsize) {
  return dense_strides(shape, itemsize, Order::c);
}

Strides f_strides(const Shape& shape, std::size_t itemsize) {
  return dense_strides(shape, itemsize, Order::f);
}

bool is_c_contiguous(const Layout& layout, std::size_t itemsize) {
  return is_dense(layout, itemsize, Order::c);
}

bool is_f_contiguous(const Layout& layout, std::size_t itemsize) {
  return is_dense(layout, itemsize, Order::f);
}

Order resolve_order(Order order, const Layout& layout, std::size_t itemsize) {
  if (order != Order::a) return order;
  const bool fortran = is_f_contiguous(layout, itemsize) && !is_c_contiguous(layout, itemsize);
  return fortran ? Order::f : Order::c;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Shape result = a;
  if (!broadcast_into(result, b))
    throw ShapeError(
        fmt::format("shapes {} and {} do not broadcast together", to_string(a), to_string(b)));
  element_count(result);
  return result;
}

Shape broadcast_shapes(std::span<const Shape> shapes) {
  Shape result;
  for (const Shape& shape : shapes)
    require<ShapeError>(broadcast_into(result, shape), [&] {
      return fmt::format("shapes {} do not broadcast together", names(shapes));
    });
  element_count(result);
  return result;
}

Layout broadcast_to(const Layout& layout, const Shape& shape) {
  const auto fail = [&] {
    return fmt::format("shape {} does not broadcast to {}", to_string(layout.shape),
                       to_string(shape));
  };
  require<ShapeError>(layout.rank() <= shape.size(), fail);
  element_count(shape);
  Layout result{shape, Strides::filled(shape.size(), 0)};
  const std::size_t lead = shape.size() - layout.rank();
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    const bool equal = layout.shape[i] == shape[lead + i];
    require<ShapeError>(equal || layout.shape[i] == 1, fail);
    if (equal) result.strides[lead + i] = layout.strides[i];
  }
  return result;
}

ByteBounds byte_bounds(const Layout& layout, std::size_t itemsize) {
  if (element_count(layout.shape) == 0) return {0, 0};
  return byte_bounds({layout.shape.data(), layout.rank()}, {layout.strides.data(), layout.rank()},
                     itemsize);
}

ByteBounds byte_bounds(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                       std::size_t itemsize) {
  ByteBounds bounds{0, 0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t last = checked_mul(shape[i] - 1, strides[i]);
    std::int64_t& end = last < 0 ? bounds.lowest : bounds.past;
    end = checked_add(end, last);
  }
  bounds.past = checked_add(bounds.past, Extent(itemsize).value);
  return bounds;
}

namespace {

[[noreturn, gnu::cold]] void throw_no_axis(std::int64_t axis, std::int64_t rank) {
  throw ShapeError(
      fmt::format("axis {} is out of range for {} dimension{}", axis, rank, rank == 1 ? "" : "s"));
}
inline std::int64_t normal_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) throw_no_axis(axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace

std::size_t normalize_axis(std::int64_t axis, std::size_t rank) {
  return std::size_t(normal_axis(axis, std::int64_t(rank)));
}

Axes normalize_axes(std::span<const std::int64_t> axes, std::size_t rank) {
  Axes result;
  for (const std::int64_t axis : axes) {
    const std::int64_t normal = normal_axis(axis, std::int64_t(rank));
    for (const std::int64_t other : result) {
      require<ShapeError>(other != normal,
                          [&] { return fmt::format("axis {} comes twice", axis); });
    }
    result.push_back(normal);
  }
  return result;
}

Shape infer_shape(const Shape& shape, std::int64_t count) {
  const auto fail = [&] {
    return fmt::format("{} elements cannot take the shape {}", count, to_string(shape));
  };
  Shape result = shape;
  std::int64_t* const unknown = std::find(result.begin(), result.end(), -1);
  if (unknown != result.end()) {
    require<ShapeError>(std::find(unknown + 1, result.end(), -1) == result.end(), [&] {
      return fmt::format("only one extent may be -1, but the shape is {}", to_string(shape));
    });
    *unknown = 1;
    const std::int64_t others = element_count(result);
    require<ShapeError>(others != 0 && count % others == 0, fail);
    *unknown = count / others;
  }
  require<ShapeError>(element_count(result) == count, fail);
  return result;
}

std::optional<Strides> reshape_strides(const Layout& layout, std::size_t itemsize,
                                       const Shape& shape, Order order) {
  const std::int64_t count = element_count(layout.shape);
  require<ShapeError>(element_count(shape) == count, [&] {
    return fmt::format("shape {} cannot become {}", to_string(layout.shape), to_string(shape));
  });
  if (count == 0) return dense_strides(shape, itemsize, order);
  const bool c_order = order != Order::f;
  Layout blocks = c_order ? layout : reversed(layout);
  collapse(blocks.shape, std::array{&blocks.strides});
  if (c_order) return cut(blocks, itemsize, shape);
  auto strides = cut(
      blocks, itemsize,
      Shape(std::make_reverse_iterator(shape.end()), std::make_reverse_iterator(shape.begin())));
  if (strides) std::reverse(strides->begin(), strides->end());
  return strides;
}

void collapse(Shape& shape, std::span<Strides* const> strides) {
  if (has_no_elements(shape)) {
    shape = {0};
    for (Strides* const s : strides) *s = {0};
    return;
  }
  std::size_t kept = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = shape[axis];
    if (extent == 1) continue;
    std::int64_t product = extent;
    const bool merged = kept > 0 && merges(strides, kept - 1, axis, extent) &&
                        !__builtin_mul_overflow(shape[kept - 1], extent, &product);
    if (!merged) ++kept;
    shape[kept - 1] = merged ? product : extent;
    for (Strides* const s : strides) (*s)[kept - 1] = (*s)[axis];
  }
  shape.truncate(kept);
  for (Strides* const s : strides) s->truncate(kept);
}

void sort_axes(Shape& shape, std::span<Strides* const> strides) {
  if (strides.empty()) return;
  const auto magnitude = [&](std::size_t axis) {
    const std::int64_t s = (*strides[0])[axis];
    return s < 0 ? 0 - std::uint64_t(s) : std::uint64_t(s);
  };
  for (std::size_t sorted = 1; sorted < shape.size(); ++sorted)
    for (std::size_t i = sorted; i > 0 && magnitude(i - 1) < magnitude(i); --i) {
      std::swap(shape[i - 1], shape[i]);
      for (Strides* const s : strides) std::swap((*s)[i - 1], (*s)[i]);
    }
}

}  // namespace quarry
