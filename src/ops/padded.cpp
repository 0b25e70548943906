// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/methods.hpp>
#include <quarry/ops/padded.hpp>

#include <fmt/format.h>

namespace quarry::expr {

Shape with_one_axis(Shape shape, std::size_t axis, std::size_t axes, std::int64_t extent) {
  require<ShapeError>(extent >= 0,
                      [&] { return fmt::format("a selection of {} elements", extent); });
  for (std::size_t d = 0; d < axes; ++d) shape.erase(axis);
  shape.insert(axis, extent);
  return shape;
}

void require_no_longer(std::int64_t condition, std::int64_t extent, std::size_t axis) {
  require<IndexError>(condition <= extent, [&] {
    return fmt::format("a condition of {} elements along axis {} of extent {}", condition, axis,
                       extent);
  });
}

std::vector<DeviceNDArray<std::int64_t>> padded_coordinates(const DeviceNDArray<std::int64_t>& flat,
                                                            const Shape& shape, std::int64_t fill) {
  auto all_axes = coordinates(flat, shape);
  for (auto& along : all_axes) along = eval(where(flat < 0, fill, along));
  return all_axes;
}

DeviceNDArray<std::int64_t> padded_coordinate_rows(const DeviceNDArray<std::int64_t>& flat,
                                                   const Shape& shape, std::int64_t fill) {
  auto rows = coordinate_rows(flat, shape);
  rows.assign(where((flat < 0)(all, newaxis), fill, rows));
  return rows;
}

}  // namespace quarry::expr
