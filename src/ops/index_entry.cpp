// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/index_entry.hpp>
#include <quarry/ops/nonzero.hpp>

#include <concepts>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "ops/with_positions.hpp"

namespace quarry::expr {
namespace {

using Positions = DeviceNDArray<const std::int64_t>;

Positions as_int64(const DeviceNDArrayBase& positions) {
  if (positions.dtype() == dtype_of<std::int64_t>) return Positions(positions);
  Positions result;
  with_positions(positions, [&]<class T>(const DeviceNDArray<const T>& p) {
    if constexpr (std::same_as<T, std::uint64_t>) {
      constexpr std::uint64_t highest = std::numeric_limits<std::int64_t>::max();
      result = eval(astype<std::int64_t>(minimum(p, highest)));
    } else {
      result = eval(astype<std::int64_t>(p));
    }
  });
  return result;
}

/// The entry's positions: of a mask those in C order that are true.
UntypedNDArray positions_of(const IndexEntry& entry, const DeviceNDArrayBase& array) {
  if (entry.truth) {
    const Stream& stream = quarry::detail::stream_for(array);
    return UntypedNDArray(zeros<std::int64_t>({*entry.truth ? 1 : 0}, {.stream = stream}));
  }
  if (entry.array->dtype() == dtype_of<bool>) {
    return UntypedNDArray(flatnonzero(DeviceNDArray<const bool>(*entry.array)));
  }
  return *entry.array;
}

/// Positions along an axis, negative ones from its end.
struct Part {
  Positions positions;
  kernels::side_axis axis;
};

/// Positions of several axes together are taken apart unless these are one axis in memory.
void add_mask(std::vector<Part>& parts, const DeviceNDArray<std::int64_t>& flat, const Shape& mask,
              std::span<const kernels::side_axis> axes) {
  kernels::side_axis together{1, 0};
  bool is_one = true;
  for (std::size_t d = axes.size(); d-- > 0 && is_one;) {
    const auto& axis = axes[d];
    is_one = together.extent == 1 || axis.stride == together.stride * together.extent;
    if (together.extent == 1) together.stride = axis.stride;
    together.extent *= axis.extent;
  }
  if (is_one) return parts.push_back({flat, together});
  const auto along = coordinates(flat, mask);
  for (std::size_t d = 0; d < axes.size(); ++d) parts.push_back({along[d], axes[d]});
}

/// Those of a part from the beginning of its axis, the nearest inside for one that is outside.
auto from_begin(const Part& part) {
  const auto& p = part.positions;
  const std::int64_t extent = part.axis.extent;
  return minimum(maximum(where(p < 0, p + extent, p), std::int64_t{0}), extent - 1);
}

/// An axis whose step is the largest of which the strides of all are multiples.
Positions merge(std::span<const Part> parts, SideView& side) {
  std::int64_t step = 0, elements = 1, shift = 0;
  for (const Part& part : parts) {
    elements *= part.axis.extent;
    step = std::gcd(step, part.axis.stride);
  }
  kernels::side_axis one{1, step};
  const auto factor = [&](const Part& part) { return step > 0 ? part.axis.stride / step : 0; };
  for (const Part& part : parts) {
    const std::int64_t last = (part.axis.extent - 1) * factor(part);
    one.extent += std::abs(last);
    if (last < 0) shift -= last;
  }
  side.window.offset -= shift * step;
  side.own = {one};
  side.is_exact = one.extent == elements;
  DeviceNDArray<std::int64_t> sum;
  for (const Part& part : parts) {
    const auto term = from_begin(part) * factor(part);
    sum = &part == &parts.front() ? eval(term + shift) : eval(sum + term);
  }
  return sum;
}

/// Positions of which none is read: an array without elements has any strides.
Positions merge_empty(std::span<const Part> parts, SideView& side) {
  Shape shape;
  for (const Part& part : parts) shape = broadcast_shapes(shape, part.positions.shape());
  side.own = {{side.is_empty() ? 0 : 1, 0}};
  return zeros<std::int64_t>(shape, {.stream = parts[0].positions.stream()});
}

}  // namespace

ListedView listed_view(const DeviceNDArrayBase& array, std::span<const IndexEntry> entries) {
  static const Shape no_axes{};
  const auto has_positions = [](const IndexEntry& e) { return e.truth || e.array; };
  std::vector<UntypedNDArray> positions;
  positions.reserve(entries.size());
  std::vector<SideEntry> list;
  for (const IndexEntry& entry : entries) {
    list.push_back({entry.index});
    if (!has_positions(entry)) continue;
    list.back().positions = &positions.emplace_back(positions_of(entry, array));
    if (entry.truth) list.back().mask = &no_axes;
    if (entry.array && entry.array->dtype() == dtype_of<bool>) {
      list.back().mask = &entry.array->shape();
    }
  }
  ListedView result{side_view(array, list), {}};
  SideView& side = result.side;
  std::vector<Part> parts;
  std::span<const kernels::side_axis> own = side.own;
  for (const auto& [index, p, mask] : list) {
    if (!p) continue;
    const std::size_t axes = mask ? mask->size() : 1;
    if (mask)
      add_mask(parts, DeviceNDArray<std::int64_t>(*p), *mask, own.first(axes));
    else
      parts.push_back({as_int64(*p), own[0]});
    own = own.subspan(axes);
    side.is_injective = mask;
  }
  side.is_injective = side.is_injective && positions.size() == 1;
  if (parts.empty()) parts.push_back({zeros<std::int64_t>({}, {.stream = array.stream()}), {1, 0}});
  if (array.empty()) {
    result.positions = merge_empty(parts, side);
  } else if (parts.size() == 1) {
    result.positions = parts[0].positions;
    side.own = {parts[0].axis};
  } else {
    result.positions = merge(parts, side);
  }
  return result;
}

}  // namespace quarry::expr
