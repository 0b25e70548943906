// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/take.hpp>

#include <fmt/format.h>

#include "expr/kernel_inputs.hpp"

namespace quarry::expr {
namespace {

[[noreturn]] void throw_position(const auto& position, const SideView& side) {
  throw IndexError(fmt::format("position {} is outside of axis {} of extent {}", position,
                               side.axis, side.own.extent));
}

}  // namespace

SideView side_view(const DeviceNDArrayBase& array, std::int64_t axis, std::size_t axes_in_place) {
  const Layout& layout = array.layout();
  const std::size_t own = normalize_axis(axis, layout.rank());
  SideView side{{}, {layout.shape[own], layout.strides[own]}, own};
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    for (std::size_t k = 0; k < (d == own ? axes_in_place : 1); ++k) {
      side.window.shape.push_back(d == own ? 1 : layout.shape[d]);
      side.window.strides.push_back(d == own || side.own.extent == 0 ? 0 : layout.strides[d]);
    }
  }
  return side;
}

bool has_aligned_elements(const DeviceNDArrayBase& array) { return is_aligned(array); }

void require_elements(const SideView& side, const Shape& positions) {
  require<IndexError>(side.own.extent > 0 || element_count(positions) == 0, [&] {
    return fmt::format("positions of shape {} on axis {} of extent 0", to_string(positions),
                       side.axis);
  });
}

void throw_outside(std::int64_t position, const SideView& side) { throw_position(position, side); }
void throw_outside(std::uint64_t position, const SideView& side) { throw_position(position, side); }

void require_same_rank(const Shape& positions, const Shape& array) {
  require<ShapeError>(positions.size() == array.size(), [&] {
    return fmt::format("positions of shape {} along an axis of an array of shape {}",
                       to_string(positions), to_string(array));
  });
}

}  // namespace quarry::expr
