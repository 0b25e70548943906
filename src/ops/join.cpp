// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/join.hpp>

#include <fmt/format.h>

namespace quarry::expr {

Shape joined_shape(std::span<const Shape> shapes, std::size_t axis) {
  require<ShapeError>(!shapes.empty(), "a join of no arrays");
  Shape result = shapes[0];
  for (const Shape& shape : shapes.subspan(1)) {
    Shape rest = shape;
    if (shape.size() == result.size()) rest[axis] = result[axis];
    require<ShapeError>(rest == result, [&] {
      return fmt::format("shapes {} and {} do not join along axis {}", to_string(shapes[0]),
                         to_string(shape), axis);
    });
    result[axis] = checked_add(result[axis], shape[axis]);
  }
  return result;
}

void Joined::add(const Layout& layout, const Layout& seen, std::size_t itemsize,
                 const Stream& stream) {
  if (!stream_) stream_ = stream;
  is_fortran_ =
      is_fortran_ && is_f_contiguous(layout, itemsize) && !is_c_contiguous(layout, itemsize);
  shapes_.push_back(seen.shape);
}

void Joined::require_parts() const { require<ShapeError>(!shapes_.empty(), "a join of no arrays"); }

const Shape& Joined::along(std::int64_t axis) {
  require_parts();
  return shape_ = joined_shape(shapes_, normalize_axis(axis, shapes_[0].size()));
}

const Shape& Joined::in_a_row() {
  require_parts();
  std::int64_t count = 0;
  for (const Shape& shape : shapes_) count = checked_add(count, element_count(shape));
  is_fortran_ = false;
  return shape_ = Shape{count};
}

ArrayOptions Joined::options() const {
  return {.stream = stream_, .order = is_fortran_ ? Order::f : Order::c};
}

}  // namespace quarry::expr
