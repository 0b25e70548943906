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

namespace {

/// The elements of an array, which are read in the order `read`, in the planned layout.
class Reshaped : public DeviceNDArrayBase {
 public:
  static UntypedNDArray of(const DeviceNDArrayBase& array, const ReshapedLayout& plan, Order read) {
    if (!plan.copied) return UntypedNDArray(Reshaped(array, {plan.layout}));
    const DType type = array.dtype();
    const Stream& stream = stream_for(array);
    const Reshaped result(type, plan.layout, stream);
    const Layout as_before{array.shape(), dense_strides(array.shape(), type.itemsize(), read)};
    copy_elements({result.data_, type, as_before, result.buffer_.get()}, array.ref(), stream);
    return UntypedNDArray(result);
  }

 private:
  using DeviceNDArrayBase::DeviceNDArrayBase;
};

Order resolved(Order order, const DeviceNDArrayBase& array) {
  return resolve_order(order, array.layout(), array.dtype().itemsize());
}

}  // namespace

UntypedNDArray reshape(const DeviceNDArrayBase& array, const Shape& to, Order order) {
  const Order read = resolved(order, array);
  return Reshaped::of(array, plan_reshape(array, to, read), read);
}

UntypedNDArray ravel(const DeviceNDArrayBase& array, Order order) {
  const Order read = resolved(order, array);
  return Reshaped::of(array, plan_ravel(array, read), read);
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
