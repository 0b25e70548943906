// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/fields.hpp>
#include <quarry/array/record.hpp>

#include <fmt/format.h>

namespace quarry::detail {

const Field& field_named(const DType& type, std::string_view name) {
  std::string names;
  for (const Field& field : type.fields()) {
    if (field.name == name) return field;
    names += (names.empty() ? "" : ", ") + std::string(field.name);
  }
  throw IndexError(
      fmt::format("no field '{}' in {}: {}", name, to_string(type),
                  names.empty() ? "QUARRY_RECORD names fields" : "its fields are " + names));
}

UntypedNDArray field_view(const DeviceNDArrayBase& array, const Field& field) {
  Layout layout = array.layout();
  const Shape extents(field.shape);
  const Strides strides = c_strides(extents, field.dtype.itemsize());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    layout.shape.push_back(extents[axis]);
    layout.strides.push_back(strides[axis]);
  }
  return {array, {std::move(layout), static_cast<std::int64_t>(field.offset)}, field.dtype};
}

void throw_no_single_record(const Shape& shape) {
  throw ShapeError(
      fmt::format("a record of an array of shape {}; it takes one element", to_string(shape)));
}

HostRef host_value(const DeviceNDArrayBase& view, const void* value) {
  const std::size_t itemsize = view.dtype().itemsize();
  auto* const data = const_cast<std::byte*>(static_cast<const std::byte*>(value));
  return {data, view.dtype(), {view.shape(), c_strides(view.shape(), itemsize)}};
}

}  // namespace quarry::detail
