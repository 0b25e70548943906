// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/memory/registered.hpp>
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif

#include <algorithm>

/// xtensor arrays in page-locked, aligned and registered host memory. <quarry/xtensor.hpp> includes
/// this.
namespace quarry {

/// An xtensor array in C or F order with allocator `A`.
template <class T, class A>
using HostContainer = xt::xarray_container<xt::uvector<T, A>, xt::layout_type::dynamic,
                                           xt::dynamic_shape<std::size_t>>;
/// In page-locked memory; see PinnedAllocator. A container move-constructed from one takes over its
/// memory; `noalias(p) = e` writes into it, and `p = e` takes new memory, page-locked with the
/// default options.
template <class T>
using PinnedArray = HostContainer<T, PinnedAllocator<T>>;
/// In pageable memory; see AlignedAllocator.
template <class T>
using AlignedArray = HostContainer<T, AlignedAllocator<T>>;

/// How a page-locked array is made.
struct PinnedOptions {
  std::optional<Device> device = std::nullopt;  ///< the current device if none
  /// Without one: C, or for an array like another the order of that one's axes.
  std::optional<Order> order = std::nullopt;
  /// In bytes, instead of an order. An array of xtensor has no gaps: throws LogicError for strides
  /// that have.
  Strides strides = {};
  bool portable = false;        ///< page-locked for every GPU
  bool write_combined = false;  ///< uncached: fast to write in order, very slow to read
  /// Kernels of the device can use it too, over the link: pointer_info(p.data()).device_pointer.
  bool mapped = false;
};
/// How an aligned array is made.
struct AlignedOptions {
  /// Without one: C, or for an array like another the order of that one's axes.
  std::optional<Order> order = std::nullopt;
  std::size_t alignment = AlignedAllocator<char>::page;  ///< in bytes, a power of two
};

namespace detail {

template <class T>
PinnedAllocator<T> allocator_of(const PinnedOptions& options) {
  return PinnedAllocator<T>({.portable = options.portable,
                             .write_combined = options.write_combined,
                             .mapped = options.mapped},
                            options.device);
}
template <class T>
AlignedAllocator<T> allocator_of(const AlignedOptions& options) {
  return AlignedAllocator<T>(options.alignment);
}

/// Uninitialised, with a dense layout.
template <class T, class A>
HostContainer<T, A> container(const Layout& layout, const A& allocator) {
  using C = HostContainer<T, A>;
  byte_count(layout.shape, sizeof(T));  // throws for invalid extents
  C result(typename C::storage_type(allocator), {0}, {1});
  const typename C::shape_type shape(layout.shape.begin(), layout.shape.end());
  if (is_c_contiguous(layout, sizeof(T))) {
    result.resize(shape, xt::layout_type::row_major);
  } else if (is_f_contiguous(layout, sizeof(T))) {
    result.resize(shape, xt::layout_type::column_major);
  } else {
    typename C::strides_type strides;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      strides.push_back(layout.strides[d] / static_cast<std::int64_t>(sizeof(T)));
    }
    result.resize(shape, strides);
  }
  return result;
}
template <class T, class Options>
auto container_of_shape(const Shape& shape, const Options& options) {
  return container<T>({shape, dense_strides(shape, sizeof(T), options.order.value_or(Order::c))},
                      allocator_of<T>(options));
}

template <class C>
C zeroed_container(C array) {
  std::fill_n(array.data(), array.size(), typename C::value_type{});
  return array;
}

/// The layout of `array`, or its shape in the given order. Throws LogicError without an order if
/// the array is neither C- nor F-contiguous.
template <class A>
Layout dense_layout_of(const A& array, std::optional<Order> wanted) {
  const Layout layout = layout_of(array);
  if (wanted) return layout_like(layout, sizeof(element_of_t<A>), wanted);
  constexpr std::size_t itemsize = sizeof(element_of_t<A>);
  require<LogicError>(is_c_contiguous(layout, itemsize) || is_f_contiguous(layout, itemsize), [&] {
    return "an array of shape " + to_string(layout.shape) + " and strides " +
           to_string(layout.strides) + " is contiguous in neither C nor F order";
  });
  return layout;
}

/// A non-owning xtensor adaptor over elements at `data`. xtensor counts strides in elements: throws
/// LogicError for strides that are no multiple of their size.
template <class T>
auto adapt(T* data, const Layout& layout) {
  require_whole_strides(layout, sizeof(T));
  std::vector<std::size_t> shape(layout.shape.begin(), layout.shape.end());
  std::vector<std::ptrdiff_t> strides;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    strides.push_back(shape[d] == 1 ? 0 : layout.strides[d] / static_cast<std::int64_t>(sizeof(T)));
  }
  return xt::adapt(data, static_cast<std::size_t>(element_count(layout.shape)), xt::no_ownership(),
                   shape, strides);
}

}  // namespace detail

/// Uninitialised, in page-locked memory. Throws MemoryError.
template <Element T>
PinnedArray<T> pinned_array(const Shape& shape, const PinnedOptions& options = {}) {
  const Layout layout = detail::new_layout(shape, sizeof(T), options.order, options.strides);
  detail::require_dense(layout, sizeof(T));
  return detail::container<T>(layout, detail::allocator_of<T>(options));
}
/// With the shape of a host array or of one on a device, and its order of axes unless the options
/// have one.
template <class A>
auto pinned_array_like(const A& like, const PinnedOptions& options = {}) {
  using T = detail::element_of_t<A>;
  const Layout layout =
      detail::layout_like(detail::layout_of(like), sizeof(T), options.order, options.strides);
  detail::require_dense(layout, sizeof(T));
  return detail::container<T>(layout, detail::allocator_of<T>(options));
}

///@{
/// PyCUDA's names. The `_like` take the order of an array that is contiguous in C or F order, and
/// throw LogicError for others unless the options have an order.
template <Element T>
PinnedArray<T> pagelocked_empty(const Shape& shape, const PinnedOptions& options = {}) {
  return pinned_array<T>(shape, options);
}
template <Element T>
PinnedArray<T> pagelocked_zeros(const Shape& shape, const PinnedOptions& options = {}) {
  return detail::zeroed_container(pinned_array<T>(shape, options));
}
template <class A>
auto pagelocked_empty_like(const A& like, const PinnedOptions& options = {}) {
  using T = detail::element_of_t<A>;
  return detail::container<T>(detail::dense_layout_of(like, options.order),
                              detail::allocator_of<T>(options));
}
template <class A>
auto pagelocked_zeros_like(const A& like, const PinnedOptions& options = {}) {
  return detail::zeroed_container(pagelocked_empty_like(like, options));
}
///@}

///@{
/// In pageable memory that begins at a multiple of the alignment, a power of two. Uninitialised.
template <Element T>
AlignedArray<T> aligned_empty(const Shape& shape, const AlignedOptions& options = {}) {
  return detail::container_of_shape<T>(shape, options);
}
template <Element T>
AlignedArray<T> aligned_zeros(const Shape& shape, const AlignedOptions& options = {}) {
  return detail::zeroed_container(aligned_empty<T>(shape, options));
}
///@}
///@{
/// In the order of `like` unless the options have one; throws LogicError if it is neither C- nor
/// F-contiguous.
template <class A>
auto aligned_empty_like(const A& like, const AlignedOptions& options = {}) {
  using T = detail::element_of_t<A>;
  return detail::container<T>(detail::dense_layout_of(like, options.order),
                              detail::allocator_of<T>(options));
}
template <class A>
auto aligned_zeros_like(const A& like, const AlignedOptions& options = {}) {
  return detail::zeroed_container(aligned_empty_like(like, options));
}
///@}

/// A host array that is page-locked while this lives; T is const for a read-only one.
template <class T>
class RegisteredArray {
 public:
  /// Registers the memory of `array`; `base`, if given, is kept alive.
  RegisteredArray(const HostRef& array, const RegisterOptions& options,
                  std::shared_ptr<void> base = nullptr)
      : array_(array),
        memory_(detail::span_of(array).data, detail::span_of(array).bytes, options,
                std::move(base)) {}

  /// An xtensor adaptor over the same elements, valid as long as the array.
  auto array() const { return detail::adapt(reinterpret_cast<T*>(array_.data), array_.layout); }
  const RegisteredHostMemory& memory() const { return memory_; }  ///< as it is registered
  /// Waits for the streams that have used the array and unlocks it. A second call throws
  /// LogicError.
  void unregister() { memory_.unregister(); }
  /// The array itself if it was moved in, else nullptr.
  const std::shared_ptr<void>& base() const { return memory_.base(); }

 private:
  HostRef array_;
  RegisteredHostMemory memory_;
};

///@{
/// Page-locks a host array in place. An lvalue must outlive the result; a moved array (std::move)
/// is owned by it.
template <HostArray H>
[[nodiscard]] auto register_host_memory(H& array, const RegisterOptions& options = {}) {
  using T = detail::HostElement<H>;
  return RegisteredArray<T>(host_ref(array), options);
}
template <HostArray H>
requires(!std::is_reference_v<H>)
    [[nodiscard]] auto register_host_memory(H&& array, const RegisterOptions& options = {}) {
  using T = detail::HostElement<H>;
  auto base = std::make_shared<H>(std::move(array));
  const HostRef ref = host_ref(*base);
  return RegisteredArray<T>(ref, options, std::move(base));
}
///@}

}  // namespace quarry
