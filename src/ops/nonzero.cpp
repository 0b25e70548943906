// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/methods.hpp>
#include <quarry/ops/nonzero.hpp>

#include <fmt/format.h>

namespace quarry::expr {
namespace {

/// The positions along axis `axis`; `inner` elements lie between neighbours.
auto along_axis(const DeviceNDArray<std::int64_t>& flat, const Shape& shape, std::size_t axis) {
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  return floor_divide(flat, std::max<std::int64_t>(inner, 1)) %
         std::max<std::int64_t>(shape[axis], 1);
}

}  // namespace

std::vector<DeviceNDArray<std::int64_t>> coordinates(const DeviceNDArray<std::int64_t>& flat,
                                                     const Shape& shape) {
  require<ShapeError>(!shape.empty(), "nonzero of a 0-d array: it has no axis");
  if (shape.size() == 1) return {flat};
  std::vector<DeviceNDArray<std::int64_t>> all;
  for (std::size_t d = 0; d < shape.size(); ++d) all.push_back(eval(along_axis(flat, shape, d)));
  return all;
}

DeviceNDArray<std::int64_t> coordinate_rows(const DeviceNDArray<std::int64_t>& flat,
                                            const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  DeviceNDArray<std::int64_t> rows(Shape{flat.size(), rank}, quarry::detail::stream_for(flat));
  for (std::size_t d = 0; d < shape.size(); ++d) rows(all, d) = along_axis(flat, shape, d);
  return rows;
}

void require_one_axis(const char* function, const Shape& condition) {
  require<ShapeError>(condition.size() == 1, [&] {
    return fmt::format("{} with a condition of shape {}: it has one axis", function,
                       to_string(condition));
  });
}

void require_within(const DeviceNDArray<bool>& condition, std::int64_t extent) {
  if (condition.size() <= extent) return;
  const auto behind = condition(range(extent, _));
  require<IndexError>(!any(behind).item(), [&] {
    return fmt::format("the condition is true at position {}, outside of an axis of extent {}",
                       extent + argmax(behind).item(), extent);
  });
}

void require_one_size(const char* function, const Shape& mask, const Shape& array) {
  require<ShapeError>(element_count(mask) == element_count(array), [&] {
    return fmt::format(
        "{} with a mask of shape {} and an array of shape {}: they have not as many "
        "elements",
        function, to_string(mask), to_string(array));
  });
}

}  // namespace quarry::expr
