// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif

/// xtensor in and out. Containers, tensors, adaptors and views with memory of their own go to the
/// device as they lie (see to_device, copy_to_host); lazy xtensor expressions are evaluated first.
namespace quarry {

/// What copy_to_host() makes: a row-major xt::xarray.
template <class T>
struct HostArrayOf<T, void> {
  static xt::xarray<T> make(const Shape& shape) {
    typename xt::xarray<T>::shape_type extents(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) extents[d] = static_cast<std::size_t>(shape[d]);
    return xt::xarray<T>(extents);
  }
};

template <class E>
requires(!HostArray<E>) auto to_device(const xt::xexpression<E>& expression,
                                       const ArrayOptions& options = {}) {
  const xt::xarray<typename E::value_type> values = expression.derived_cast();
  return to_device(values, options);
}

/// An xtensor adaptor over the elements of an array on the CPU device: the same memory, no copy.
/// The array must outlive it, and work queued on it must be done. Throws LogicError for an array on
/// a GPU.
template <class T>
auto xadapt(const DeviceNDArray<T>& array) {
  require<LogicError>(array.device().is_cpu(), [&] {
    return "xadapt: the array is on " + to_string(array.device()) + ", not in host memory";
  });
  std::vector<std::size_t> shape(array.shape().begin(), array.shape().end());
  std::vector<std::ptrdiff_t> strides;
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    strides.push_back(shape[d] == 1 ? 0
                                    : array.strides()[d] / static_cast<std::int64_t>(sizeof(T)));
  }
  return xt::adapt(reinterpret_cast<T*>(array.device_pointer()),
                   static_cast<std::size_t>(array.size()), xt::no_ownership(), shape, strides);
}

}  // namespace quarry
