// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/array/host_visible.hpp>

namespace quarry {

/// An array in managed memory, whose pages migrate to the device or the host that uses them. On a
/// GPU without the attribute CONCURRENT_MANAGED_ACCESS the host must not access it while any kernel
/// runs. Each array is a separate driver allocation.
template <class T>
using ManagedNDArray = HostVisibleNDArray<T, MemorySpace::managed>;

/// How a managed array is made.
struct ManagedOptions {
  std::optional<Stream> stream = std::nullopt;  ///< without one the current stream of the device
  std::optional<Device> device = std::nullopt;  ///< without one the stream's, or the current one
  /// Without one: C, or for an array like another the order of that one's axes.
  std::optional<Order> order = std::nullopt;
  /// Every stream may use it from the start; if false only the host, until attach() is called.
  bool attach_global = true;
};

namespace detail {
HostVisibleMemory managed_memory(const Layout& layout, std::size_t itemsize,
                                 const ManagedOptions& options);
template <class T>
ManagedNDArray<T> managed_with_layout(const Layout& layout, const ManagedOptions& options) {
  const HostVisibleMemory memory = managed_memory(layout, sizeof(T), options);
  return {DeviceNDArray<T>(layout, memory.buffer->data(), memory.buffer), memory.data};
}
/// Fills new memory on the host.
template <class T>
ManagedNDArray<T> zeroed(ManagedNDArray<T> array) {
  for (T& element : std::span(array.host_pointer(), static_cast<std::size_t>(array.size())))
    element = T{};
  return array;
}
}  // namespace detail

/// Uninitialised.
template <Element T>
ManagedNDArray<T> managed_array(const Shape& shape, const ManagedOptions& options = {}) {
  return detail::managed_with_layout<T>(
      {shape, dense_strides(shape, sizeof(T), options.order.value_or(Order::c))}, options);
}
/// With the shape of `like`, and its order of axes unless the options have one, on its device and
/// in its stream.
template <class T>
ManagedNDArray<std::remove_const_t<T>> managed_array_like(const DeviceNDArray<T>& like,
                                                          ManagedOptions options = {}) {
  if (!options.stream && !options.device) options.stream = detail::stream_for(like);
  return detail::managed_with_layout<std::remove_const_t<T>>(
      detail::layout_like(like.layout(), sizeof(T), options.order), options);
}
/// With the shape of a host array, and its order of axes unless the options have one.
template <HostArray H>
auto managed_array_like(const H& like, const ManagedOptions& options = {}) {
  using T = host_value_t<const H>;
  return detail::managed_with_layout<T>(
      detail::layout_like(host_ref(like).layout, sizeof(T), options.order), options);
}

///@{
/// PyCUDA's names.
template <Element T>
ManagedNDArray<T> managed_empty(const Shape& shape, const ManagedOptions& options = {}) {
  return managed_array<T>(shape, options);
}
template <Element T>
ManagedNDArray<T> managed_zeros(const Shape& shape, const ManagedOptions& options = {}) {
  return detail::zeroed(managed_array<T>(shape, options));
}
template <class A>
auto managed_empty_like(const A& like, const ManagedOptions& options = {}) {
  return managed_array_like(like, options);
}
template <class A>
auto managed_zeros_like(const A& like, const ManagedOptions& options = {}) {
  return detail::zeroed(managed_array_like(like, options));
}
///@}

}  // namespace quarry
