// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/casting.hpp>
#include <quarry/array/host_lists.hpp>
#include <quarry/array/host_values.hpp>
#include <quarry/array/ndarray_base.hpp>

#include <type_traits>
#include <utility>

/// Copies between an array and the memory of the host.
namespace quarry {

template <class V>
class DeviceNDArray;

namespace detail {
/// Whether elements of such host memory, if it has one axis, can have any shape in C order.
template <class H>
inline constexpr bool is_row = ContiguousHostRange<H> || std::is_array_v<H>;
template <class T>
inline constexpr bool is_row<ListedValues<T>> = true;
}  // namespace detail

/// Members of DeviceNDArray.
template <class A>
class HostCopyMethods;
/// Its copies to and from the host.
template <class V>
class HostCopyMethods<DeviceNDArray<V>> {
  using value_type = std::remove_const_t<V>;
  static constexpr bool has_const = std::is_const_v<V>;

 public:
  /// A new host array (an xtensor array: include <quarry/xtensor.hpp>); waits for it.
  auto copy_to_host() const {
    auto host = HostArrayOf<value_type>::make(self().shape());
    copy_to_host(host);
    return host;
  }
  /// A new host array of this type, converted as same_kind allows; waits for it:
  /// a.copy_to_host<Eigen::MatrixXf>(). Throws ShapeError for a shape that it cannot have.
  template <class H>
  H copy_to_host() const {
    H host = HostArrayMaker<H>::make(self().shape());
    copy_to_host(host);
    return host;
  }
  /// Into a host array of the same shape (an xtensor container or view), or a row of the standard
  /// library (span, vector, C array) of as many elements, in C order; converts as same_kind allows.
  /// Without a stream it waits; with one it does not, and `host` must live until the copy is done.
  /// Returns `host`.
  template <WritableHostArray H>
  H copy_to_host(H&& host) const {
    download(like_this(host), self().ref(), detail::stream_for(self()), true, to_host<H>());
    return std::forward<H>(host);
  }
  /// Queued in `stream`.
  template <WritableHostArray H>
  H copy_to_host(H&& host, const Stream& stream) const {
    static_assert(!owns_elements<H>,
                  "the copy would be queued into a temporary: give the container a name");
    download(like_this(host), self().ref(), detail::stream_for(self(), &stream), false,
             to_host<H>());
    return std::forward<H>(host);
  }
  /// Into lists of the same shape (see HostList); waits. Throws ShapeError for other lengths.
  template <class R>
  requires HostList<std::remove_reference_t<R>> R copy_to_host(R&& lists)
  const {
    const detail::ListedValues<typename detail::Listed<std::remove_reference_t<R>>::value_type>
        values(lists);
    copy_to_host(values);
    values.write(lists);
    return std::forward<R>(lists);
  }
  /// A new host array, queued in `stream`: it has the elements when the copy is done, and must live
  /// until then.
  [[nodiscard]] auto copy_to_host(const Stream& stream) const {
    auto host = HostArrayOf<value_type>::make(self().shape());
    download(host_ref(host), self().ref(), detail::stream_for(self(), &stream), false);
    return host;
  }
  /// From host memory of the same shape; converts as same_kind allows. Without a stream it waits;
  /// with one, host memory may be reused on return, page-locked memory when the copy is done.
  template <HostArray H>
  void copy_to_device(const H& host) const requires(!has_const) {
    upload(self().ref(), like_this(host), detail::stream_for(self()), true,
           detail::conversion<host_value_t<const H>, value_type>());
  }
  /// Queued in `stream`.
  template <HostArray H>
  void copy_to_device(const H& host, const Stream& stream) const requires(!has_const) {
    upload(self().ref(), like_this(host), detail::stream_for(self(), &stream), false,
           detail::conversion<host_value_t<const H>, value_type>());
  }
  /// The same from lists of the same shape (see HostList) and other libraries' expressions.
  template <class X, class... Rest>
  requires(!HostArray<X> && !detail::OnDevice<X>) void copy_to_device(const X& values,
                                                                      const Rest&... stream) const
      requires(!has_const) {
    copy_to_device(HostValuesOf<X>::make(values), stream...);
  }
  /// From an array of the same shape on any device, converted in the same way; queued.
  template <class U>
  void copy_to_device(const DeviceNDArray<U>& other) const requires(!has_const) {
    copy_from(other, detail::stream_for(self()));
  }
  /// Queued in `stream`.
  template <class U>
  void copy_to_device(const DeviceNDArray<U>& other, const Stream& stream) const
      requires(!has_const) {
    copy_from(other, detail::stream_for(self(), &stream));
  }
  /// Does not compile: the elements are read-only.
  template <class X, class... Rest>
  void copy_to_device(const X&, const Rest&...) const requires has_const {
    static_assert(detail::never<X>, QUARRY_READ_ONLY);
  }

 private:
  /// Whether a temporary of this type is a container: its elements are as constant as it is.
  template <class H>
  static constexpr bool owns_elements =
      std::is_default_constructible_v<H>&& std::is_const_v<detail::HostElement<const H>>;

  const DeviceNDArray<V>& self() const { return static_cast<const DeviceNDArray<V>&>(*this); }
  /// One-dimensional host memory (a span, a vector) is taken as an array of any shape in C order.
  template <class H>
  HostRef like_this(H& host) const {
    HostRef ref = host_ref(host);
    if (detail::is_row<std::remove_const_t<H>> && ref.layout.rank() == 1 &&
        ref.layout.shape[0] == self().size()) {
      ref.layout = {self().shape(), c_strides(self().shape(), ref.dtype.itemsize())};
    }
    return ref;
  }
  template <class H>
  static const kernels::program* to_host() {
    return detail::conversion<value_type, host_value_t<std::remove_reference_t<H>>>();
  }
  template <class U>
  void copy_from(const DeviceNDArray<U>& other, const Stream& stream) const {
    require<ShapeError>(other.shape() == self().shape(), [&] {
      return "cannot copy shape " + to_string(other.shape()) + " into shape " +
             to_string(self().shape());
    });
    copy_elements(self().ref(), other.ref(), stream,
                  detail::conversion<std::remove_const_t<U>, value_type>());
  }
};

}  // namespace quarry
