// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/array/kernel_argument.hpp>
#include <quarry/kernels/device_view.hpp>

#include <cstddef>
#include <cstdint>

namespace quarry {

/// The view of an array for a kernel, which has to be launched in the order of array.stream(), or
/// after hand_over() in another stream, while the array lives. A read-only array gives elements of
/// const. Throws ShapeError for another number of axes, LogicError for strides that are no whole
/// number of elements (fields of records of odd size).
template <std::size_t rank, class T>
DeviceView<T, rank> device_view(const DeviceNDArray<T>& array) {
  detail::require_rank(array.shape(), rank);
  detail::require_whole_strides(array.layout(), sizeof(T));
  std::int64_t strides[rank + 1] = {};
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    strides[d] = array.shape()[d] > 1 ? array.strides()[d] / std::int64_t{sizeof(T)} : 1;
  }
  return {reinterpret_cast<T*>(array.device_pointer()), array.shape().data(), strides};
}

/// An array as an argument of a kernel that takes its shape and strides: a DeviceView by value.
/// Other than device_view() it refers to the array, so that the launch keeps its memory and goes to
/// its stream.
template <class T, std::size_t rank>
struct ViewArgument {
  DeviceNDArray<T> array;    ///< a handle
  DeviceView<T, rank> view;  ///< what the kernel gets
};
/// f.launch(config, view_of<2>(a)), where the kernel's parameter is a quarry::DeviceView<float, 2>
/// from the header quarry/device_view.cuh, or a DeviceView<const float, 2> if `a` is read-only.
/// Throws what device_view() throws.
template <std::size_t rank, class T>
ViewArgument<T, rank> view_of(const DeviceNDArray<T>& array) {
  return {array, device_view<rank>(array)};
}

namespace detail {

template <class T, std::size_t rank>
struct KernelValue<ViewArgument<T, rank>> {
  const ViewArgument<T, rank>& given;

  KernelValue(const ViewArgument<T, rank>& argument, const Stream&) : given(argument) {}
  KernelArgument argument() const {
    return {&given.view, sizeof given.view, given.array.buffer().get(), &given.array,
            !given.array.is_read_only()};
  }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

template <class T, std::size_t rank>
struct PassedAs<ViewArgument<T, rank>> {
  using type = DeviceView<T, rank>;
};

template <class T, std::size_t rank>
struct StreamOfArgument<ViewArgument<T, rank>> {
  static const Stream* of(const ViewArgument<T, rank>& argument) {
    return &argument.array.stream();
  }
};

}  // namespace detail
}  // namespace quarry
