// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>
#include <quarry/base/layout.hpp>

#include <array>
#include <concepts>
#include <span>  // has the concepts of ranges; <ranges> brings all views along
#include <type_traits>

namespace quarry {

/// A non-owning view of host memory as an array. Strides in bytes.
struct HostRef {
  std::byte* data;  ///< element (0, 0, ...)
  DType dtype;      ///< of the elements
  Layout layout;    ///< shape and strides
};

/// A host array with strides in elements: every xtensor container and view over memory.
template <class H>
concept StridedHostArray = requires(H& h) {
  h.data();
  h.shape();
  h.strides();
}
&&!requires(H & h) { h.device(); };

/// How an array of another library lies in memory: its header specialises this with
/// `static Layout make(const H&)`, strides in bytes from element 0, and with `static T* data(H&)`
/// if that element is not at h.data().
template <class H>
struct HostLayoutOf;

namespace detail {
/// The type of the elements of nested C arrays and std::arrays, and their extents.
template <class T>
struct FixedAxes {
  using value_type = T;
  static void append_to(Shape&) {}
};
template <class T, std::size_t N>
struct FixedAxes<T[N]> {
  using value_type = typename FixedAxes<T>::value_type;
  static constexpr bool is_array = true;
  static void append_to(Shape& shape) {
    shape.push_back(N);
    FixedAxes<T>::append_to(shape);
  }
};
template <class T, std::size_t N>
struct FixedAxes<std::array<T, N>> : FixedAxes<T[N]> {};
template <class T, std::size_t N>
struct FixedAxes<const std::array<T, N>> : FixedAxes<const T[N]> {};

/// A C array of anything but characters, which are text; memory with a row of std::arrays.
template <class H>
concept HostOfArrays = (std::is_array_v<H> &&
                        !std::same_as<std::remove_cv_t<std::remove_all_extents_t<H>>, char>) ||
                       requires(H& h) {
  FixedAxes<std::remove_cvref_t<decltype(*h.data())>>::is_array;
};

template <class H>
auto host_data(H& h) -> decltype(h.data()) {
  return h.data();
}
template <class H>
requires requires(H& h) { HostLayoutOf<std::remove_cv_t<H>>::data(h); }
auto* host_data(H& h) { return HostLayoutOf<std::remove_cv_t<H>>::data(h); }
/// With const where elements can only be read.
template <class H>
using HostElement = std::remove_pointer_t<decltype(detail::host_data(std::declval<H&>()))>;
}  // namespace detail

/// The elements of all rows, in C order.
template <detail::HostOfArrays H>
struct HostLayoutOf<H> {
  /// The address of the first element of the first array.
  template <class Q>
  static auto* data(Q& h) {
    using Row = std::remove_reference_t<decltype(*std::data(h))>;
    return reinterpret_cast<typename detail::FixedAxes<Row>::value_type*>(std::data(h));
  }
  /// With an axis for each level of arrays.
  static Layout make(const H& h) {
    Shape shape(std::size(h));
    detail::FixedAxes<std::remove_cvref_t<decltype(*std::data(h))>>::append_to(shape);
    return {shape, c_strides(shape, sizeof(*data(h)))};
  }
};

/// A type for which that is known.
template <class H>
concept DescribedHostArray = requires(H& h) {
  HostLayoutOf<std::remove_cvref_t<H>>::make(h);
  *detail::host_data(h);
};

/// A type with data() and size() whose elements are contiguous: a contiguous range, or one for
/// which this is specialised.
template <class H>
inline constexpr bool is_contiguous_host_range = std::ranges::contiguous_range<H>;

/// Contiguous host memory of one dimension: std::span, std::vector, std::array, std::string. A type
/// with data() and size() that is not contiguous (a matrix block) is refused where it is used.
template <class H>
concept ContiguousHostRange = !StridedHostArray<H> && !DescribedHostArray<H> && requires(H & h) {
  *h.data();
  { h.size() } -> std::convertible_to<std::size_t>;
}
&&!requires(H & h) { h.device(); }
&&!requires(H & h) { *h.data()->begin(); };

template <class H>
concept HostArray = StridedHostArray<H> || DescribedHostArray<H> || ContiguousHostRange<H>;

/// The type of a host array's elements, without const.
template <HostArray H>
using host_value_t = std::remove_cv_t<detail::HostElement<H>>;

/// Whether its elements may be written.
template <class H>
concept WritableHostArray =
    HostArray<H> && !std::is_const_v<detail::HostElement<std::remove_reference_t<H>>>;

namespace detail {
/// Strides in bytes for strides in elements; strides of axes of extent 0 or 1 are ignored. Throws
/// SizeOverflow.
Strides byte_strides(const Shape& shape, Strides in_elements, std::size_t itemsize);
}  // namespace detail

///@{
/// A host array as the copies take it.
template <StridedHostArray H>
HostRef host_ref(H& h) {
  using T = host_value_t<H>;
  const Shape shape(h.shape().begin(), h.shape().end());
  auto* data = const_cast<T*>(h.data());
  if constexpr (requires { h.data_offset(); }) data += h.data_offset();
  return {reinterpret_cast<std::byte*>(data),
          dtype_of<T>,
          {shape, detail::byte_strides(shape, Strides(h.strides().begin(), h.strides().end()),
                                       sizeof(T))}};
}
template <DescribedHostArray H>
HostRef host_ref(H& h) {
  using T = host_value_t<H>;
  return {reinterpret_cast<std::byte*>(const_cast<T*>(detail::host_data(h))), dtype_of<T>,
          HostLayoutOf<std::remove_cvref_t<H>>::make(h)};
}
template <ContiguousHostRange H>
HostRef host_ref(H& h) {
  static_assert(is_contiguous_host_range<std::remove_cv_t<H>>,
                "the elements of this type need not lie in a row: copy them into a std::vector or "
                "an xtensor array");
  using T = host_value_t<H>;
  return {reinterpret_cast<std::byte*>(const_cast<T*>(h.data())),
          dtype_of<T>,
          {Shape{h.size()}, Strides{sizeof(T)}}};
}
///@}

}  // namespace quarry
