// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/array/host_visible.hpp>
#include <quarry/pinned.hpp>

/// Copies from and to xtensor. Containers, tensors, adaptors and views over memory are copied
/// directly (see to_device, copy_to_host); lazy xtensor expressions are evaluated first.
namespace quarry {

/// The result of copy_to_host(): a row-major xt::xarray.
template <class T>
struct HostArrayOf<T, void> {
  /// Uninitialised.
  static xt::xarray<T> make(const Shape& shape) {
    typename xt::xarray<T>::shape_type extents(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) extents[d] = static_cast<std::size_t>(shape[d]);
    return xt::xarray<T>(extents);
  }
};

/// xtensor's expressions are evaluated on the host.
template <class E>
requires std::is_base_of_v<xt::xexpression<E>, E>
struct HostValuesOf<E> {
  /// Evaluates the expression.
  static xt::xarray<typename E::value_type> make(const E& expression) { return expression; }
};

/// An xtensor adaptor over the elements of an array on the CPU device: the same memory, no copy.
/// The array must outlive it, and work queued on it must be done. Throws LogicError for an array on
/// a GPU.
template <class T>
auto xadapt(const DeviceNDArray<T>& array) {
  require<LogicError>(array.device().is_cpu(), [&] {
    return "xadapt: the array is on " + to_string(array.device()) + ", not in host memory";
  });
  return detail::adapt(reinterpret_cast<T*>(array.device_pointer()), array.layout());
}
/// The same for a mapped or managed array on any device.
template <class T, MemorySpace where>
auto xadapt(const HostVisibleNDArray<T, where>& array) {
  return detail::adapt(array.host_pointer(), array.layout());
}

}  // namespace quarry
