// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>
#include <quarry/base/layout.hpp>

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
/// `static Layout make(const H&)`, strides in bytes from data().
template <class H>
struct HostLayoutOf;
/// A type with data() for which that is known.
template <class H>
concept DescribedHostArray = requires(H& h) {
  h.data();
  HostLayoutOf<std::remove_cv_t<H>>::make(h);
};

/// A type with data() and size() whose elements are contiguous: a contiguous range, or one for
/// which this is specialised.
template <class H>
inline constexpr bool is_contiguous_host_range = std::ranges::contiguous_range<H>;

/// Contiguous host memory of one dimension: std::span, std::vector, std::array, std::string. A type
/// with data() and size() that is not contiguous (a matrix block) is refused where it is used.
template <class H>
concept ContiguousHostRange = !StridedHostArray<H> && !DescribedHostArray<H> && requires(H & h) {
  h.data();
  { h.size() } -> std::convertible_to<std::size_t>;
}
&&!requires(H & h) { h.device(); };

template <class H>
concept HostArray = StridedHostArray<H> || DescribedHostArray<H> || ContiguousHostRange<H>;

/// The type of a host array's elements, without const.
template <HostArray H>
using host_value_t = std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<H&>().data())>>;

/// Whether elements may be written through `h.data()`.
template <class H>
concept WritableHostArray =
    HostArray<H> && !std::is_const_v<std::remove_pointer_t<decltype(std::declval<H&>().data())>>;

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
  return {reinterpret_cast<std::byte*>(const_cast<T*>(h.data())), dtype_of<T>,
          HostLayoutOf<std::remove_cv_t<H>>::make(h)};
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
