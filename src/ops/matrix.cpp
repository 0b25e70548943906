// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/matrix.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace quarry::expr {

Shape matrix_shape(std::int64_t rows, std::optional<std::int64_t> columns) {
  return {rows, columns.value_or(rows)};
}

Shape shape_around(std::int64_t count, std::int64_t offset) {
  const std::int64_t side = checked_add(count, offset < 0 ? checked_mul(offset, -1) : offset);
  return {side, side};
}

Shape triangle_shape(const Shape& shape) {
  require<ShapeError>(!shape.empty(), "a 0-d array has no triangles");
  return {shape[shape.size() > 1 ? shape.size() - 2 : 0], shape.back()};
}

std::int64_t clipped_offset(std::int64_t offset, const Shape& matrix) {
  return std::clamp(offset, -matrix[0], matrix[1]);
}

}  // namespace quarry::expr
