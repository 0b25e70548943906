// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/view.hpp>
#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace quarry {
namespace {

struct Selected {
  std::int64_t start, count, step;
};

/// Of consecutive elements, which most ranges have.
Selected select_consecutive(const Range& range, std::int64_t extent) {
  const auto place = [=](std::int64_t v) {
    if (v < 0) v += extent;
    return v < 0 ? 0 : v > extent ? extent : v;
  };
  const std::int64_t start = range.start.given ? place(range.start.value) : 0;
  const std::int64_t stop = range.stop.given ? place(range.stop.value) : extent;
  return {start, stop > start ? stop - start : 0, 1};
}

/// CPython's slice rules (PySlice_AdjustIndices), in arithmetic that cannot overflow.
Selected select(const Range& range, std::int64_t extent) {
  const std::int64_t step = range.step.given ? range.step.value : 1;
  if (step == 1) return select_consecutive(range, extent);
  require<IndexError>(step != 0, "a range with step 0");
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto place = [&](const Bound& bound, std::int64_t missing) {
    if (!bound.given) return missing;
    const std::int64_t v =
        bound.value < 0 && bound.value >= -extent ? bound.value + extent : bound.value;
    return bound.value < -extent ? low : std::clamp(v, low, high);
  };
  const std::int64_t start = place(range.start, step > 0 ? low : high);
  const std::int64_t stop = place(range.stop, step > 0 ? high : low);
  const auto distance = static_cast<std::uint64_t>(step > 0 ? stop - start : start - stop);
  if (step > 0 ? stop <= start : stop >= start) return {start, 0, step};
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
  return {start, static_cast<std::int64_t>((distance - 1) / stride + 1), step};
}

std::int64_t place_integer(std::int64_t i, std::int64_t extent, std::size_t axis) {
  require<IndexError>(i >= -extent && i < extent, [&] {
    return fmt::format("index {} is outside axis {} of extent {}", i, axis, extent);
  });
  return i < 0 ? i + extent : i;
}

std::size_t count_axes(std::span<const Index> entries) {
  return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [](const Index& e) {
    return e.kind == Index::Kind::integer || e.kind == Index::Kind::range;
  }));
}

/// Without elements the offset is unused and may overflow.
std::int64_t offset(std::int64_t index, std::int64_t stride) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(index, stride, &bytes) ? 0 : bytes;
}

class Indexer {
 public:
  explicit Indexer(const Layout& from) : from_(from) {}

  void add(const Index& entry) {
    switch (entry.kind) {
      case Index::Kind::integer:
        return add_integer(entry.range.start.value);
      case Index::Kind::range:
        return add_range(entry.range);
      case Index::Kind::newaxis:
        return push(1, 0);
      case Index::Kind::ellipsis:
        return;
    }
  }
  void add_whole(std::size_t axes) {
    for (; axes > 0; --axes, ++axis_) push(from_.shape[axis_], from_.strides[axis_]);
  }
  View finish() {
    if (is_empty_) view_.offset = 0;
    return std::move(view_);
  }

 private:
  void add_integer(std::int64_t i) {
    i = place_integer(i, from_.shape[axis_], axis_);
    move(offset(i, from_.strides[axis_++]));
  }
  void add_range(const Range& range) {
    const Selected s = select(range, from_.shape[axis_]);
    const std::int64_t stride = from_.strides[axis_++];
    if (s.start > 0 && s.count > 0) move(offset(s.start, stride));
    // one element or none: the stride is never used
    push(s.count, s.count > 1 ? offset(s.step, stride) : stride);
  }
  void move(std::int64_t bytes) {
    if (__builtin_add_overflow(view_.offset, bytes, &view_.offset)) view_.offset = 0;
  }
  void push(std::int64_t extent, std::int64_t stride) {
    is_empty_ = is_empty_ || extent == 0;
    view_.layout.shape.push_back(extent);
    view_.layout.strides.push_back(stride);
  }

  const Layout& from_;
  View view_;
  std::size_t axis_ = 0;
  bool is_empty_ = false;
};

}  // namespace

View index(const Layout& layout, std::span<const Index> entries) {
  const std::size_t named = count_axes(entries);
  require<IndexError>(named <= layout.rank(), [&] {
    return fmt::format("{} indices for an array of {} axes", named, layout.rank());
  });
  const std::size_t rest = layout.rank() - named;
  bool expanded = false;
  Indexer indexer(layout);
  for (const Index& entry : entries) {
    if (entry.kind == Index::Kind::ellipsis) {
      require<IndexError>(!expanded, "an index can only have one ellipsis");
      indexer.add_whole(rest);
      expanded = true;
    }
    indexer.add(entry);
  }
  if (!expanded) indexer.add_whole(rest);
  return indexer.finish();
}

Layout transpose(const Layout& layout) {
  Layout result = layout;
  std::reverse(result.shape.begin(), result.shape.end());
  std::reverse(result.strides.begin(), result.strides.end());
  return result;
}

Layout transpose(const Layout& layout, std::span<const std::int64_t> axes) {
  require<ShapeError>(axes.size() == layout.rank(), [&] {
    return fmt::format("transpose: {} axes for an array of {} axes", axes.size(), layout.rank());
  });
  Layout result = layout;
  const std::int64_t *shape = layout.shape.data(), *strides = layout.strides.data();
  std::int64_t *to_shape = result.shape.data(), *to_strides = result.strides.data();
  for (const std::int64_t axis : normalize_axes(axes, layout.rank())) {
    *to_shape++ = shape[axis];
    *to_strides++ = strides[axis];
  }
  return result;
}

Layout squeeze(const Layout& layout) {
  Layout result;
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    if (layout.shape[d] == 1) continue;
    result.shape.push_back(layout.shape[d]);
    result.strides.push_back(layout.strides[d]);
  }
  return result;
}

Layout squeeze(const Layout& layout, std::span<const std::int64_t> axes) {
  Axes drop = normalize_axes(axes, layout.rank());
  std::sort(drop.begin(), drop.end(), std::greater<>());
  Layout result = layout;
  for (const std::int64_t axis : drop) {
    const auto a = static_cast<std::size_t>(axis);
    require<ShapeError>(layout.shape[a] == 1, [&] {
      return fmt::format("squeeze: axis {} has extent {}, not 1", axis, layout.shape[a]);
    });
    result.shape.erase(a);
    result.strides.erase(a);
  }
  return result;
}

Layout squeeze_axis(const Layout& layout, std::int64_t axis) {
  if (layout.rank() == 0 && (axis == 0 || axis == -1)) return layout;
  return squeeze(layout, {&axis, 1});
}

View items(const Layout& layout, std::size_t from, std::size_t to) {
  View result{layout};
  if (from == to) return result;
  require<ShapeError>(layout.rank() > 0, [&] {
    return fmt::format("a 0-d array with elements of {} bytes has no view with elements of {}",
                       from, to);
  });
  const std::size_t last = layout.rank() - 1;
  const auto have = static_cast<std::int64_t>(from), want = static_cast<std::int64_t>(to);
  const std::int64_t extent = layout.shape[last], stride = layout.strides[last];
  require<ShapeError>(stride == have || extent == 1 || element_count(layout.shape) == 0, [&] {
    return fmt::format("elements of {} bytes seen as {}: the last axis has stride {}, not {}", from,
                       to, stride, from);
  });
  const std::int64_t bytes = checked_mul(extent, have);
  require<ShapeError>(to < from ? from % to == 0 : bytes % want == 0, [&] {
    return fmt::format("elements of {} bytes seen as {}: {} bytes are no whole number of them",
                       from, to, to < from ? have : bytes);
  });
  result.layout.shape[last] = bytes / want;
  result.layout.strides[last] = want;
  return result;
}

}  // namespace quarry
