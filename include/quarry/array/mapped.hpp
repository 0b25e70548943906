// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/array/host_visible.hpp>
#include <quarry/memory/registered.hpp>

#include <tuple>

namespace quarry {

/// An array in page-locked host memory that kernels access over the link.
template <class T>
using MappedNDArray = HostVisibleNDArray<T, MemorySpace::mapped>;

/// How a mapped array is made.
struct MappedOptions {
  std::optional<Stream> stream = std::nullopt;  ///< without one the current stream of the device
  std::optional<Device> device = std::nullopt;  ///< without one the stream's, or the current one
  /// Without one: C, or for an array like another the order of that one's axes.
  std::optional<Order> order = std::nullopt;
  /// In bytes, instead of an order; the elements may have gaps between them.
  Strides strides = {};
  bool portable = false;  ///< page-locked for every GPU
  bool wc = false;        ///< write-combined: fast to write in order, very slow to read on the host
};

namespace detail {
HostVisibleMemory mapped_memory(const Layout& layout, std::size_t itemsize,
                                const MappedOptions& options);
template <class T>
MappedNDArray<T> mapped_with_layout(const Layout& layout, const MappedOptions& options) {
  const HostVisibleMemory memory = mapped_memory(layout, sizeof(T), options);
  const std::int64_t first = -byte_bounds(layout, sizeof(T)).lowest;
  return {DeviceNDArray<T>(layout, memory.buffer->data() + first, memory.buffer),
          memory.data + first};
}
}  // namespace detail

/// Uninitialised.
template <Element T>
MappedNDArray<T> mapped_array(const Shape& shape, const MappedOptions& options = {}) {
  return detail::mapped_with_layout<T>(
      detail::new_layout(shape, sizeof(T), options.order, options.strides), options);
}
/// With the shape of `like`, and its order of axes unless the options have one, on its device and
/// in its stream.
template <class T>
MappedNDArray<std::remove_const_t<T>> mapped_array_like(const DeviceNDArray<T>& like,
                                                        MappedOptions options = {}) {
  if (!options.stream && !options.device) options.stream = detail::stream_for(like);
  return detail::mapped_with_layout<std::remove_const_t<T>>(
      detail::layout_like(like.layout(), sizeof(T), options.order, options.strides), options);
}
/// With the shape of a host array, and its order of axes unless the options have one.
template <HostArray H>
auto mapped_array_like(const H& like, const MappedOptions& options = {}) {
  using T = host_value_t<const H>;
  return detail::mapped_with_layout<T>(
      detail::layout_like(host_ref(like).layout, sizeof(T), options.order, options.strides),
      options);
}

namespace detail {
template <HostArray H>
auto map_host_array(const Stream& stream, H& array) {
  using T = HostElement<H>;
  const HostRef ref = host_ref(array);
  const HostSpan span = span_of(ref);
  auto buffer = registered_buffer(span, stream, {.mapped = true}, nullptr);
  std::byte* const data = buffer->data() + (ref.data - span.data);
  return DeviceNDArray<T>(ref.layout, data, std::move(buffer));
}
}  // namespace detail

/// Arrays for kernels over the memory of host arrays, which is page-locked until their last handle
/// is destroyed:  auto x = mapped(a);  auto [x, y] = mapped(a, b);  That destructor waits for the
/// streams that have used them; the host arrays must live as long. If one array cannot be locked,
/// none stays locked. Bound to `stream`.
template <HostArray... H>
[[nodiscard]] auto mapped(const Stream& stream, H&... arrays) {
  static_assert(sizeof...(H) > 0);
  if constexpr (sizeof...(H) == 1) {
    return detail::map_host_array(stream, arrays...);
  } else {
    return std::tuple{detail::map_host_array(stream, arrays)...};
  }
}
/// Bound to the current stream.
template <HostArray... H>
[[nodiscard]] auto mapped(H&... arrays) {
  return mapped(current_stream(), arrays...);
}

}  // namespace quarry
