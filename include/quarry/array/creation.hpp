// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

#include <initializer_list>
#include <memory>

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
/// In `order` or with these strides; without them dense with the order of `like`'s axes, as NumPy's
/// order='K'.
Layout layout_like(const Layout& like, std::size_t itemsize,
                   std::optional<Order> order = std::nullopt, const Strides& strides = {});
/// Throws LogicError if a stride (of an extent above 1) is no multiple of the element size.
void require_whole_strides(const Layout& layout, std::size_t itemsize);
/// Throws LogicError unless the elements lie side by side, whatever the order of the axes.
void require_dense(const Layout& layout, std::size_t itemsize);
/// Options for an array with the layout of `like` where they have no other one.
ArrayOptions options_like(const Layout& like, std::size_t itemsize, const ArrayOptions& options);

template <HostArray H>
Layout layout_of(const H& array) {
  return host_ref(array).layout;
}
template <OnDevice X>
Layout layout_of(const X& x) {
  return x.layout();
}

template <class A>
struct ElementOf {
  using type = typename A::value_type;
};
template <HostArray A>
struct ElementOf<A> {
  using type = host_value_t<const A>;
};
template <class A>
using element_of_t = typename ElementOf<A>::type;
/// U, or without it the element type of A.
template <class U, class A>
using element_or_t = std::conditional_t<std::is_void_v<U>, element_of_t<A>, U>;

/// The stream of an operation on an array or an expression.
template <OnDevice X>
const Stream& home_of(const X& x) {
  if constexpr (Expression<X>) {
    return x.stream();
  } else {
    return stream_for(x);
  }
}
}  // namespace detail

///@{
/// Uninitialised, with the shape of an array, an expression or a host array, with its order of axes
/// unless the options have an order or strides, with its element type unless there is another one
/// (empty_like<float>(a)), and on its device and in its stream.
template <class U = void, class A>
auto device_array_like(const A& like, const ArrayOptions& options = {}) {
  using T = detail::element_or_t<U, A>;
  const Layout layout = detail::layout_of(like);
  ArrayOptions chosen = detail::options_like(layout, sizeof(T), options);
  if constexpr (detail::OnDevice<A>) {
    if (!options.stream && !options.device) chosen.stream = detail::home_of(like);
  }
  return DeviceNDArray<T>(layout.shape, chosen);
}
template <class U = void, class A>
auto empty_like(const A& like, const ArrayOptions& options = {}) {
  return device_array_like<U>(like, options);
}
///@}

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
///@{
/// As empty_like, with this value in every element. Queued; does not wait.
template <class U = void, class A, class S>
auto full_like(const A& like, const S& value, const ArrayOptions& options = {}) {
  auto result = device_array_like<U>(like, options);
  const StreamGuard guard(result.stream());  // a given stream takes precedence over a guard's
  result.fill(value);
  return result;
}
template <class U = void, class A>
auto zeros_like(const A& like, const ArrayOptions& options = {}) {
  return full_like<U>(like, detail::element_or_t<U, A>{}, options);
}
template <class U = void, class A>
auto ones_like(const A& like, const ArrayOptions& options = {}) {
  return full_like<U>(like, detail::element_or_t<U, A>(1), options);
}
///@}

///@{
/// A copy of a host array with the same shape, and its order of axes unless the options have one,
/// of its own element type or converted (to_device<float>(h)) as NumPy's same-kind casting allows;
/// returns when the copy is done, or with a stream in the options when it is queued (the host
/// memory may then be reused).
template <Element T, HostArray H>
DeviceNDArray<T> to_device(const H& host, const ArrayOptions& options = {}) {
  const HostRef from = host_ref(host);
  DeviceNDArray<T> result(from.layout.shape, detail::options_like(from.layout, sizeof(T), options));
  upload(result.ref(), from, result.stream(), !options.stream,
         detail::conversion<host_value_t<const H>, T>());
  return result;
}
template <HostArray H>
DeviceNDArray<host_value_t<const H>> to_device(const H& host, const ArrayOptions& options = {}) {
  return to_device<host_value_t<const H>, H>(host, options);
}
///@}
///@{
/// Of nested lists (see HostList), or of an xtensor expression, which <quarry/xtensor.hpp>
/// evaluates.
template <class X>
requires(!HostArray<X> && !detail::OnDevice<X> &&
         !detail::Record<X>) auto to_device(const X& x, const ArrayOptions& options = {}) {
  return to_device(HostValuesOf<X>::make(x), options);
}
template <Element T, HostList L>
DeviceNDArray<T> to_device(const L& list, const ArrayOptions& options = {}) {
  return to_device<T>(HostValuesOf<L>::make(list), options);
}
///@}
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
/// Into an array that there is, as its copy_to_device; returns it.
template <HostArray H, class T>
DeviceNDArray<T> to_device(const H& host, const DeviceNDArray<T>& to) {
  to.copy_to_device(host);
  return to;
}
/// The same, queued in `stream`.
template <HostArray H, class T>
DeviceNDArray<T> to_device(const H& host, const DeviceNDArray<T>& to, const Stream& stream) {
  to.copy_to_device(host, stream);
  return to;
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

namespace detail {

template <class T, class L>
DeviceNDArray<T> array_of(const L& list, const ArrayOptions& options) {
  return to_device(ListedValues<T>(list), options);
}

/// What a caller gives beside an array of T, on a device: a number as an array without axes.
template <class T, class V>
decltype(auto) on_device(const V& values, const Stream& stream) {
  if constexpr (OnDevice<V>) {
    return (values);
  } else if constexpr (HostArray<V> || HostList<V>) {
    return to_device(values, {.stream = stream});
  } else {
    return full<T>({}, values, {.stream = stream});
  }
}

}  // namespace detail

///@{
/// An array of the values in nested lists, as np.array: array({{1.f, 2.f}, {3.f, 4.f}}); without a
/// list a 0-d array. array<float>({{1, 2}, {3, 4}}) gives their type. Throws ShapeError, with the
/// lengths, for lists of different ones.
template <Element T>
DeviceNDArray<T> array(std::initializer_list<T> values, const ArrayOptions& options = {}) {
  return detail::array_of<T>(values, options);
}
template <Element T>
DeviceNDArray<T> array(std::initializer_list<std::initializer_list<T>> values,
                       const ArrayOptions& options = {}) {
  return detail::array_of<T>(values, options);
}
template <Element T>
DeviceNDArray<T> array(
    std::initializer_list<std::initializer_list<std::initializer_list<T>>> values,
    const ArrayOptions& options = {}) {
  return detail::array_of<T>(values, options);
}
template <Element T>
DeviceNDArray<T> array(
    std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<T>>>>
        values,
    const ArrayOptions& options = {}) {
  return detail::array_of<T>(values, options);
}
template <Element T>
requires(!HostArray<T> && !HostList<T>) DeviceNDArray<T> array(const T& value,
                                                               const ArrayOptions& options = {}) {
  return full<T>({}, value, options);
}
///@}
/// A copy of a host array, or of nested lists.
template <class H>
requires(HostArray<H> || HostList<H>) auto array(const H& host, const ArrayOptions& options = {}) {
  return to_device(host, options);
}
/// A new array with the elements of one on a device, or those of an expression.
template <detail::OnDevice X>
auto array(const X& x) {
  if constexpr (Expression<X>) {
    return x.template evaluate<typename X::value_type>();
  } else {
    return x.copy();
  }
}

}  // namespace quarry
