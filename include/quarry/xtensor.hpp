// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/array/host_visible.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/pinned.hpp>

#include <memory>
#include <optional>

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

namespace detail {
template <class Extents>
inline constexpr std::size_t fixed_rank = any_rank;
template <class Extents>
requires requires { std::tuple_size<Extents>::value; }
inline constexpr std::size_t fixed_rank<Extents> = std::tuple_size_v<Extents>;
template <std::size_t... extents>
inline constexpr std::size_t fixed_rank<xt::fixed_shape<extents...>> = sizeof...(extents);
}  // namespace detail

/// xt::xarray, xt::xtensor and xt::xtensor_fixed of any layout. Throws ShapeError for another
/// number of axes than the type has, and for other extents than those of an xtensor_fixed.
template <class H>
requires std::is_base_of_v<xt::xcontainer<H>, H>
struct HostArrayMaker<H> {
  static constexpr std::size_t rank = detail::fixed_rank<typename H::shape_type>;  ///< by its type
  /// Uninitialised.
  static H make(const Shape& shape) {
    H host;
    if constexpr (detail::HasSettableExtents<typename H::shape_type>) {
      host.resize(detail::extents_for<typename H::shape_type>(shape));
    } else {
      detail::require_shape(shape, Shape(host.shape().begin(), host.shape().end()));
    }
    return host;
  }
};

/// xtensor's expressions are evaluated on the host.
template <class E>
requires std::is_base_of_v<xt::xexpression<E>, E>
struct HostValuesOf<E> {
  /// Evaluates the expression.
  static xt::xarray<typename E::value_type> make(const E& expression) { return expression; }
};

/// A host array with what is in device memory from `from` on, T by T: PyCUDA's from_device. Waits
/// for the default stream of the device.
template <Element T>
auto from_device(const DevicePtr& from, const Shape& shape, Order order = Order::c) {
  auto host =
      detail::container<T>({shape, dense_strides(shape, sizeof(T), order)}, std::allocator<T>());
  memcpy_dtoh(host, from);
  return host;
}
/// The same with shape, type and order of `other`, an array on the host or on a device. Throws
/// LogicError if that is contiguous in neither C nor F order.
template <class A>
auto from_device_like(const DevicePtr& from, const A& other) {
  using T = detail::element_of_t<A>;
  auto host =
      detail::container<T>(detail::dense_layout_of(other, std::nullopt), std::allocator<T>());
  memcpy_dtoh(host, from);
  return host;
}

/// An xtensor adaptor over the elements of an array on the CPU device: the same memory, no copy.
/// The array must outlive it, and work queued on it must be done. Throws LogicError for an array on
/// a GPU.
template <class T>
auto xadapt(const DeviceNDArray<T>& array) {
  return detail::adapt(detail::host_elements(array), array.layout());
}
/// The same for a mapped or managed array on any device.
template <class T, MemorySpace where>
auto xadapt(const HostVisibleNDArray<T, where>& array) {
  return detail::adapt(array.host_pointer(), array.layout());
}

}  // namespace quarry
