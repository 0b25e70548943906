// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/shape_views.hpp>
#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace quarry::shape_views {
namespace {

using Span = std::span<const std::int64_t>;

std::size_t place(std::int64_t axis) { return static_cast<std::size_t>(axis); }

View permuted(const Layout& layout, const Axes& order) {
  View result{layout};
  const std::int64_t *shape = layout.shape.data(), *strides = layout.strides.data();
  std::int64_t *to_shape = result.layout.shape.data(), *to_strides = result.layout.strides.data();
  for (const std::int64_t axis : order) {
    *to_shape++ = shape[axis];
    *to_strides++ = strides[axis];
  }
  return result;
}

void put(Layout& layout, std::size_t axis, std::int64_t extent, std::int64_t stride) {
  layout.shape.insert(axis, extent);
  layout.strides.insert(axis, stride);
}

/// The offset counts only where there are elements.
View with_offset(Layout layout, std::int64_t offset) {
  const bool is_empty =
      std::find(layout.shape.begin(), layout.shape.end(), 0) != layout.shape.end();
  return {std::move(layout), is_empty ? 0 : offset};
}

View flipped(const Layout& layout, Span normal) {
  Layout result = layout;
  std::int64_t offset = 0;
  for (const std::int64_t axis : normal) {
    const std::int64_t extent = layout.shape[place(axis)], stride = layout.strides[place(axis)];
    if (extent < 2) continue;
    offset += (extent - 1) * stride;
    result.strides[place(axis)] = -stride;
  }
  return with_offset(std::move(result), offset);
}

std::pair<std::size_t, std::size_t> two_axes(const Layout& layout, Span axes,
                                             const char* function) {
  require<ShapeError>(axes.size() == 2, [&] {
    return fmt::format("{} wants two axes, got {}", function, axes.size());
  });
  const std::size_t first = normalize_axis(axes[0], layout.rank());
  const std::size_t second = normalize_axis(axes[1], layout.rank());
  require<ShapeError>(first != second, [&] {
    return fmt::format("{} wants two different axes, got {} and {}", function, axes[0], axes[1]);
  });
  return {first, second};
}

}  // namespace

View expand_dims(const Layout& layout, Span axes) {
  Axes sorted = normalize_axes(axes, layout.rank() + axes.size());
  std::sort(sorted.begin(), sorted.end());
  View result{layout};
  for (const std::int64_t axis : sorted) put(result.layout, place(axis), 1, 0);
  return result;
}

View swapaxes(const Layout& layout, std::int64_t first, std::int64_t second) {
  View result{layout};
  const std::size_t a = normalize_axis(first, layout.rank());
  const std::size_t b = normalize_axis(second, layout.rank());
  std::swap(result.layout.shape[a], result.layout.shape[b]);
  std::swap(result.layout.strides[a], result.layout.strides[b]);
  return result;
}

View moveaxis(const Layout& layout, Span from, Span to) {
  require<ShapeError>(from.size() == to.size(), [&] {
    return fmt::format("moveaxis of {} axes to {} places", from.size(), to.size());
  });
  const Axes source = normalize_axes(from, layout.rank()),
             target = normalize_axes(to, layout.rank());
  Axes order = Axes::filled(layout.rank(), -1);
  std::uint32_t moved = 0;
  static_assert(max_rank <= 32);
  for (std::size_t i = 0; i < source.size(); ++i) {
    order[place(target[i])] = source[i];
    moved |= std::uint32_t{1} << source[i];
  }
  std::int64_t other = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while ((moved >> other & 1) != 0) ++other;
    axis = other++;
  }
  return permuted(layout, order);
}

View rollaxis(const Layout& layout, std::int64_t axis, std::int64_t start) {
  const auto rank = std::int64_t(layout.rank());
  const auto from = std::int64_t(normalize_axis(axis, layout.rank()));
  const std::int64_t before = start < 0 ? start + rank : start;
  require<ShapeError>(0 <= before && before <= rank, [&] {
    return fmt::format("rollaxis to {} of an array of {} axes", start, rank);
  });
  const std::int64_t to = from < before ? before - 1 : before;
  return moveaxis(layout, Span(&from, 1), Span(&to, 1));
}

View diagonal(const Layout& layout, std::int64_t offset, std::int64_t first, std::int64_t second) {
  const std::int64_t both[] = {first, second};
  const auto [a, b] = two_axes(layout, both, "diagonal");
  const std::int64_t down = layout.strides[a], right = layout.strides[b];
  const std::int64_t rows = layout.shape[a], columns = layout.shape[b];
  const bool is_above = offset >= 0;
  // clipped first, so that no difference overflows
  const std::int64_t skipped =
      is_above ? std::min(offset, columns) : (offset < -rows ? rows : -offset);
  const std::int64_t count =
      is_above ? std::min(rows, columns - skipped) : std::min(rows - skipped, columns);
  Layout result;
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    if (d == a || d == b) continue;
    result.shape.push_back(layout.shape[d]);
    result.strides.push_back(layout.strides[d]);
  }
  result.shape.push_back(count);
  result.strides.push_back(count > 1 ? down + right : 0);
  return with_offset(std::move(result), count == 0 ? 0 : skipped * (is_above ? right : down));
}

View flip(const Layout& layout, Span axes) {
  return flipped(layout, normalize_axes(axes, layout.rank()));
}

View flip(const Layout& layout) {
  Axes every;
  for (std::size_t d = 0; d < layout.rank(); ++d) every.push_back(std::int64_t(d));
  return flipped(layout, every);
}

View rot90(const Layout& layout, std::int64_t quarters, Span axes) {
  const auto [a, b] = two_axes(layout, axes, "rot90");
  const auto first = std::int64_t(a), second = std::int64_t(b);
  const std::int64_t turns = (quarters % 4 + 4) % 4, both[] = {first, second};
  if (turns == 0) return {layout};
  if (turns == 2) return flipped(layout, both);
  View result = flipped(layout, Span(turns == 1 ? &second : &first, 1));
  result.layout = swapaxes(result.layout, first, second).layout;
  return result;
}

View sliding_window_view(const Layout& layout, Span window, Span axes) {
  require<ShapeError>(window.size() == axes.size(), [&] {
    return fmt::format("a window of {} extents along {} axes", window.size(), axes.size());
  });
  View result{layout};
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::size_t axis = normalize_axis(axes[i], layout.rank());
    std::int64_t& extent = result.layout.shape[axis];
    require<ShapeError>(window[i] >= 0 && window[i] <= extent, [&] {
      return fmt::format("a window of {} along axis {} of extent {}", window[i], axis, extent);
    });
    extent -= window[i] - 1;
    put(result.layout, result.layout.rank(), window[i], layout.strides[axis]);
  }
  return result;
}

View atleast_1d(const Layout& layout) {
  View result{layout};
  if (layout.rank() == 0) put(result.layout, 0, 1, 0);
  return result;
}

View atleast_2d(const Layout& layout) {
  View result = atleast_1d(layout);
  if (result.layout.rank() == 1) put(result.layout, 0, 1, 0);
  return result;
}

View atleast_3d(const Layout& layout) {
  View result = atleast_2d(layout);
  if (result.layout.rank() == 2) put(result.layout, 2, 1, 0);
  return result;
}

View cut(const Layout& layout, std::int64_t axis, const Range& range) {
  const std::size_t d = normalize_axis(axis, layout.rank());
  Layout line{{layout.shape[d]}, {layout.strides[d]}};
  const Index entry = range;
  const View part = index(line, {&entry, 1});
  View result = with_offset(layout, part.offset);
  result.layout.shape[d] = part.layout.shape[0];
  result.layout.strides[d] = part.layout.strides[0];
  return result;
}

View columns(const Layout& layout) {
  return layout.rank() < 2 ? View{transpose(atleast_2d(layout).layout)} : View{layout};
}

View along(const Layout& line, std::size_t axis, std::size_t rank) {
  View result{{Shape::filled(rank, 1), Strides::filled(rank, 0)}};
  result.layout.shape[axis] = line.shape[0];
  result.layout.strides[axis] = line.strides[0];
  return result;
}

void require_rank(const Shape& shape, std::size_t least, const char* function, std::size_t most) {
  require<ShapeError>(shape.size() >= least && shape.size() <= most, [&] {
    const bool up = most == max_rank;
    return fmt::format(
        "{} of an array of shape {}; it must have {}{} axes{}", function, to_string(shape), least,
        up || least == most ? "" : fmt::format(" to {}", most), up ? " or more" : "");
  });
}

std::vector<Range> parts(const Shape& shape, std::int64_t axis, std::int64_t count, bool equal) {
  const std::int64_t extent = shape[normalize_axis(axis, shape.size())];
  require<ShapeError>(count > 0, [&] { return fmt::format("split into {} parts", count); });
  require<ShapeError>(!equal || extent % count == 0, [&] {
    return fmt::format("axis {} of extent {} does not split into {} equal parts", axis, extent,
                       count);
  });
  std::vector<Range> result;
  const std::int64_t each = extent / count, longer = extent % count;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t stop = at + each + (i < longer ? 1 : 0);
    result.push_back(range(at, stop));
    at = stop;
  }
  return result;
}

std::vector<Range> parts(const Shape& shape, std::int64_t axis, Span positions) {
  const std::int64_t extent = shape[normalize_axis(axis, shape.size())];
  std::vector<Range> result;
  std::int64_t at = 0;
  for (const std::int64_t position : positions) {
    result.push_back(range(at, position));
    at = position;
  }
  result.push_back(range(at, extent));
  return result;
}

std::int64_t horizontal_axis(std::size_t rank) { return rank > 1 ? 1 : 0; }

}  // namespace quarry::shape_views
