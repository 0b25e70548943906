// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

#include <initializer_list>

/// Arrays from nothing and from host memory. The element type is given (zeros<float>({3, 4})) or
/// taken from the value. All take {.stream = s, .device = d, .order = Order::f}.
namespace quarry {

///@{
/// Uninitialised memory.
template <Element T>
DeviceNDArray<T> device_array(const Shape& shape, const ArrayOptions& options = {}) {
  return DeviceNDArray<T>(shape, options);
}
template <Element T>
DeviceNDArray<T> empty(const Shape& shape, const ArrayOptions& options = {}) {
  return DeviceNDArray<T>(shape, options);
}
///@}

namespace detail {
/// Dense, in `order`; without one the order of `like`'s axes is kept, as NumPy's order='K'.
Layout layout_like(const Layout& like, std::size_t itemsize,
                   std::optional<Order> order = std::nullopt);
/// Throws LogicError if a stride (of an extent above 1) is no multiple of the element size.
void require_whole_strides(const Layout& layout, std::size_t itemsize);
/// Options for an array on `like`'s device, in its stream.
ArrayOptions options_like(const DeviceNDArrayBase& like, const ArrayOptions& options);
}  // namespace detail

/// Uninitialised, with the shape, the device and the stream of `like`, and with its order of axes
/// unless the options have one.
template <class T>
DeviceNDArray<std::remove_const_t<T>> device_array_like(const DeviceNDArray<T>& like,
                                                        const ArrayOptions& options = {}) {
  using V = std::remove_const_t<T>;
  DeviceNDArray<V> dense(like.shape(), detail::options_like(like, options));
  return DeviceNDArray<V>(detail::layout_like(like.layout(), sizeof(V), options.order),
                          dense.device_pointer(), dense.buffer());
}

/// Every element is `value`. Queued; does not wait.
template <Element T>
DeviceNDArray<T> full(const Shape& shape, const T& value, const ArrayOptions& options = {}) {
  DeviceNDArray<T> result(shape, options);
  fill_elements(result.ref(), &value, result.stream());  // the given stream, else the guard's
  return result;
}
/// Converts the number to T. Throws DTypeError for an integer that does not fit in T.
template <Element T, detail::ElementValue<T> S>
requires(!std::same_as<S, T>) DeviceNDArray<T> full(const Shape& shape, const S& value,
                                                    const ArrayOptions& options = {}) {
  if constexpr (Number<T>) {
    const auto element = detail::scalar_as<kernel_type_t<T>>(value);
    DeviceNDArray<T> result(shape, options);
    fill_elements(result.ref(), &element, result.stream());
    return result;
  } else {
    return full<T>(shape, static_cast<T>(value), options);
  }
}
/// Every element is 0. Queued; does not wait.
template <Element T>
DeviceNDArray<T> zeros(const Shape& shape, const ArrayOptions& options = {}) {
  return full<T>(shape, T{}, options);
}
/// Every element is 1. Queued; does not wait.
template <Number T>
DeviceNDArray<T> ones(const Shape& shape, const ArrayOptions& options = {}) {
  return full<T>(shape, T(1), options);
}
/// Zeros with the shape, the order of axes, the device and the stream of `like`.
template <class T>
auto zeros_like(const DeviceNDArray<T>& like) {
  auto result = device_array_like(like);
  result.fill(std::remove_const_t<T>{});
  return result;
}

///@{
/// A copy of a host array with the same shape, and its order of axes unless the options have one,
/// of its own element type or converted (to_device<float>(h)) as NumPy's same-kind casting allows;
/// returns when the copy is done, or with a stream in the options when it is queued (the host
/// memory may then be reused).
template <Element T, HostArray H>
DeviceNDArray<T> to_device(const H& host, const ArrayOptions& options = {}) {
  const HostRef from = host_ref(host);
  DeviceNDArray<T> dense(from.layout.shape, options);
  DeviceNDArray<T> result(detail::layout_like(from.layout, sizeof(T), options.order),
                          dense.device_pointer(), dense.buffer());
  upload(result.ref(), from, result.stream(), !options.stream,
         detail::conversion<host_value_t<const H>, T>());
  return result;
}
template <HostArray H>
DeviceNDArray<host_value_t<const H>> to_device(const H& host, const ArrayOptions& options = {}) {
  return to_device<host_value_t<const H>, H>(host, options);
}
///@}
/// Of an xtensor expression; <quarry/xtensor.hpp> evaluates it.
template <class X>
requires(!HostArray<X> && !detail::OnDevice<X> &&
         !detail::Record<X>) auto to_device(const X& x, const ArrayOptions& options = {}) {
  return to_device(HostValuesOf<X>::make(x), options);
}
/// Queued in `stream`, as with {.stream = stream}.
template <HostArray H>
auto to_device(const H& host, const Stream& stream) {
  return to_device(host, ArrayOptions{.stream = stream});
}
/// A 1-d array of these values: to_device({1.f, 2.f}).
template <Element T>
DeviceNDArray<T> to_device(std::initializer_list<T> values, const ArrayOptions& options = {}) {
  return to_device(std::span<const T>(values.begin(), values.size()), options);
}
/// A device array is returned as it is, as in Numba.
template <class T>
DeviceNDArray<T> to_device(const DeviceNDArray<T>& array) {
  return array;
}
/// The array on `device`: itself if it is on that device, else a copy.
template <class T>
DeviceNDArray<T> to_device(const DeviceNDArray<T>& array, const Device& device) {
  if (array.device() == device) return array;
  DeviceNDArray<std::remove_const_t<T>> result(array.shape(), {.device = device});
  result.copy_to_device(array);
  return result;
}

}  // namespace quarry
