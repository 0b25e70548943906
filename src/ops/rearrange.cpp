// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/rearrange.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace quarry::expr {
namespace {

/// With ones in front, so that there are `rank`.
Shape padded(const Shape& shape, std::size_t rank) {
  Shape result = shape;
  while (result.size() < rank) result.insert(0, 1);
  return result;
}

void push(Layout& layout, std::int64_t extent, std::int64_t stride) {
  layout.shape.push_back(extent);
  layout.strides.push_back(stride);
}

void require_count(std::int64_t count) {
  require<ShapeError>(count >= 0, [&] { return fmt::format("repeated {} times", count); });
}

}  // namespace

View tiled(const Layout& layout, const Shape& counts) {
  const std::size_t rank = std::max(layout.rank(), counts.size());
  Shape times = padded(counts, rank);
  View result;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool is_new = d < rank - layout.rank();
    const std::size_t own = d - (rank - layout.rank());
    if (!is_new && layout.shape[own] == 0) times[d] = 0;  // NumPy takes any count here
    require_count(times[d]);
    if (times[d] != 1) push(result.layout, times[d], 0);
    if (!is_new && layout.shape[own] != 1) {
      push(result.layout, layout.shape[own], layout.strides[own]);
    }
  }
  return result;
}

Shape tiled_shape(const Shape& shape, const Shape& counts) {
  const std::size_t rank = std::max(shape.size(), counts.size());
  const Shape times = padded(counts, rank);
  Shape result = padded(shape, rank);
  for (std::size_t d = 0; d < rank; ++d) result[d] = checked_mul(result[d], times[d]);
  return result;
}

View repeated(const Layout& layout, std::int64_t count, std::size_t axis) {
  require_count(count);
  View result;
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    if (layout.shape[d] != 1) push(result.layout, layout.shape[d], layout.strides[d]);
    if (d == axis && count != 1) push(result.layout, count, 0);
  }
  return result;
}

Shape repeated_shape(const Shape& shape, std::int64_t count, std::size_t axis) {
  require_count(count);
  Shape result = shape;
  result[axis] = checked_mul(result[axis], count);
  return result;
}

std::vector<std::int64_t> repeated_positions(std::vector<std::int64_t> counts,
                                             std::int64_t extent) {
  if (counts.size() == 1) counts.assign(static_cast<std::size_t>(extent), counts[0]);
  require<ShapeError>(static_cast<std::int64_t>(counts.size()) == extent, [&] {
    return fmt::format("{} counts for an axis of extent {}", counts.size(), extent);
  });
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    require_count(counts[i]);
    result.insert(result.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int64_t>(i));
  }
  return result;
}

Shape rolled_offsets(const Shape& shape, const ReduceAxes& shifts, const ReduceAxes& axes) {
  const Axes &by = shifts.list(), &along = axes.list();
  const std::size_t count = std::max(by.size(), along.size());
  require<ShapeError>(
      (by.size() == count || by.size() == 1) && (along.size() == count || along.size() == 1),
      [&] { return fmt::format("{} shifts along {} axes", by.size(), along.size()); });
  Shape offsets = Shape::filled(shape.size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = normalize_axis(along[along.size() == 1 ? 0 : i], shape.size());
    const std::int64_t extent = std::max<std::int64_t>(shape[axis], 1);
    const std::int64_t shift = by[by.size() == 1 ? 0 : i] % extent;
    offsets[axis] = (offsets[axis] + shift + extent) % extent;
  }
  return offsets;
}

std::vector<std::vector<MovedBox>> rolled_boxes(const Shape& shape, const Shape& offsets) {
  constexpr std::size_t most_boxes = 16;
  const std::vector<Index> whole(shape.size(), all);
  std::vector<std::vector<MovedBox>> moves{{{whole, whole}}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t offset = offsets[d];
    if (offset == 0) continue;
    if (moves.back().size() == most_boxes) moves.push_back({{whole, whole}});
    std::vector<MovedBox>& boxes = moves.back();
    for (std::size_t i = 0, before = boxes.size(); i < before; ++i) {
      MovedBox wrapped = boxes[i];
      boxes[i].to[d] = range(offset, _);
      boxes[i].from[d] = range(0, shape[d] - offset);
      wrapped.to[d] = range(0, offset);
      wrapped.from[d] = range(shape[d] - offset, _);
      boxes.push_back(std::move(wrapped));
    }
  }
  return moves;
}

std::vector<std::int64_t> places(std::vector<std::int64_t> positions, std::int64_t extent,
                                 std::int64_t limit) {
  for (std::int64_t& position : positions) {
    require<IndexError>(position >= -extent && position < limit, [&] {
      return fmt::format("position {} on an axis of extent {}", position, extent);
    });
    if (position < 0) position += extent;
  }
  return positions;
}

std::vector<std::int64_t> places_where(const std::vector<std::int64_t>& mask) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) result.push_back(static_cast<std::int64_t>(i));
  }
  return result;
}

std::vector<std::int64_t> places(const Range& range, std::int64_t extent) {
  const Layout line{{extent}, {1}};
  const Index entry = range;
  const View part = index(line, {&entry, 1});
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < part.layout.shape[0]; ++i) {
    result.push_back(part.offset + i * part.layout.strides[0]);
  }
  return result;
}

std::vector<Range> runs_without(std::vector<std::int64_t> places, std::int64_t extent) {
  std::sort(places.begin(), places.end());
  places.push_back(extent);
  std::vector<Range> runs;
  std::int64_t at = 0;
  for (const std::int64_t place : places) {
    if (place > at) runs.push_back(range(at, place));
    at = std::max(at, place + 1);
  }
  return runs;
}

std::vector<InsertedRun> inserted_runs(const std::vector<std::int64_t>& places,
                                       std::int64_t extent) {
  std::vector<std::int64_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](std::int64_t i) { return places[static_cast<std::size_t>(i)]; };
  std::ranges::stable_sort(order, {}, place);
  std::vector<InsertedRun> runs;
  std::int64_t at = 0, before = 0;
  const auto add_run = [&](std::int64_t end) {
    if (end > at) runs.push_back({range(at + before, end + before), range(at, end), false});
    at = end;
  };
  for (const std::int64_t i : order) {
    add_run(place(i));
    runs.push_back({range(at + before, at + before + 1), range(i, i + 1), true});
    ++before;
  }
  add_run(extent);
  return runs;
}

std::vector<std::int64_t> inserted_positions(const std::vector<std::int64_t>& places,
                                             std::int64_t extent) {
  std::vector<std::int64_t> result;
  for (const auto& [to, from, is_value] : inserted_runs(places, extent)) {
    for (std::int64_t i = from.start.value; i < from.stop.value; ++i) {
      result.push_back(is_value ? extent + i : i);
    }
  }
  return result;
}

View with_rank(const Layout& layout, std::size_t rank, bool moves, std::size_t axis) {
  View result{layout};
  while (result.layout.rank() < rank) {
    result.layout.shape.insert(0, 1);
    result.layout.strides.insert(0, 0);
  }
  const std::int64_t first = 0, to = static_cast<std::int64_t>(axis);
  return moves ? shape_views::moveaxis(result.layout, {&first, 1}, {&to, 1}) : result;
}

}  // namespace quarry::expr
