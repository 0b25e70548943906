// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/host_visible.hpp>

#include <version>

#if defined(__cpp_lib_mdspan)
#include <mdspan>
#define QUARRY_MDSPAN std
#define QUARRY_MDSPAN_ARRAY std
#elif __has_include(<mdspan/mdspan.hpp>)
#include <mdspan/mdspan.hpp>
#define QUARRY_MDSPAN MDSPAN_IMPL_STANDARD_NAMESPACE
#define QUARRY_MDSPAN_ARRAY std
#elif __has_include(<cuda/std/mdspan>)
#include <cuda/std/array>
#include <cuda/std/mdspan>
#define QUARRY_MDSPAN cuda::std
#define QUARRY_MDSPAN_ARRAY cuda::std
#else
#error \
    "<quarry/mdspan.hpp> needs C++23's <mdspan>, <mdspan/mdspan.hpp>, or CCCL's <cuda/std/mdspan>"
#endif

#include <array>
#include <concepts>
#include <cstdint>
#include <utility>

/// Copies from and to mdspans of host memory, and mdspans over arrays in host memory. The mdspan is
/// that of C++23, of the reference implementation or of CCCL, whichever there is in this order;
/// `quarry::md` is its namespace. An mdspan of any of them is copied (to_device, copy_to_device,
/// copy_to_host) where its layout has strides.
namespace quarry {

namespace md = QUARRY_MDSPAN;

namespace detail {

/// A view with strides of elements as they are: an accessor that computes gives no reference.
template <class M>
concept Mdspan = requires(const M& m) {
  typename M::accessor_type;
  requires M::mapping_type::is_always_strided();
  requires std::same_as<typename M::reference, typename M::element_type&>;
  requires std::same_as<typename M::data_handle_type, typename M::element_type*>;
  m.extents();
};

/// The strides of an mdspan in elements. Throws ShapeError for another number of axes, LogicError
/// for what layout_stride cannot have: strides below 1, and elements that overlap.
inline Strides mdspan_strides(const Layout& layout, std::size_t itemsize, std::size_t rank) {
  require_rank(layout.shape, rank);
  const auto unit = std::int64_t(itemsize);
  Strides strides = Strides::filled(rank, 1);
  bool fits = true;
  for (std::size_t d = 0; d < rank; ++d) {
    if (layout.shape[d] <= 1) continue;
    strides[d] = layout.strides[d] / unit;
    fits = fits && layout.strides[d] % unit == 0;
  }
  Shape shape = layout.shape;
  Strides sorted = strides;
  Strides* const all[] = {&sorted};
  sort_axes(shape, all);
  std::int64_t past = 1;  // of the axes after this one
  for (std::size_t d = rank; d-- > 0;) {
    if (shape[d] <= 1) continue;
    fits = fits && sorted[d] >= past;
    past += sorted[d] * (shape[d] - 1);
  }
  require<LogicError>(fits || element_count(layout.shape) == 0, [&] {
    return "as_mdspan: strides " + to_string(layout.strides) + " of shape " +
           to_string(layout.shape) + " for elements of " + std::to_string(itemsize) +
           " bytes are no strides of an mdspan: copy() is dense";
  });
  return strides;
}

/// Throws LogicError unless the elements are dense in `order`.
inline void require_mdspan_order(const Layout& layout, std::size_t itemsize, Order order) {
  const bool dense =
      order == Order::c ? is_c_contiguous(layout, itemsize) : is_f_contiguous(layout, itemsize);
  require<LogicError>(dense, [&] {
    return std::string("as_mdspan: an array of shape ") + to_string(layout.shape) +
           " and strides " + to_string(layout.strides) + " is not contiguous in " +
           static_cast<char>(order) + " order, as this layout is: layout_stride has all";
  });
}

template <std::size_t rank>
using MdspanArray = QUARRY_MDSPAN_ARRAY::array<std::int64_t, rank>;
template <class L, class T, std::size_t... d>
auto mdspan_of(T* data, const Layout& layout, std::index_sequence<d...>) {
  constexpr std::size_t rank = sizeof...(d);
  using Extents = md::dextents<std::int64_t, rank>;
  using Mapping = typename L::template mapping<Extents>;
  require_rank(layout.shape, rank);
  const Extents extents(layout.shape[d]...);
  if constexpr (std::same_as<L, md::layout_stride>) {
    const Strides strides = mdspan_strides(layout, sizeof(T), rank);
    const MdspanArray<rank> list{strides[d]...};
    return md::mdspan<T, Extents, L>(data, Mapping(extents, list));
  } else {
    static_assert(std::same_as<L, md::layout_right> || std::same_as<L, md::layout_left>,
                  "an mdspan of an array has layout_stride, layout_right or layout_left");
    require_mdspan_order(layout, sizeof(T),
                         std::same_as<L, md::layout_right> ? Order::c : Order::f);
    return md::mdspan<T, Extents, L>(data, Mapping(extents));
  }
}
template <std::size_t rank, class L, class T>
auto mdspan_of(T* data, const Layout& layout) {
  return mdspan_of<L>(data, layout, std::make_index_sequence<rank>());
}

}  // namespace detail

/// Where the elements of an mdspan lie.
template <detail::Mdspan M>
struct HostLayoutOf<M> {
  /// The address of the first element.
  template <class Q>
  static typename M::element_type* data(Q& m) {
    return m.data_handle();
  }
  /// Its extents and strides.
  static Layout make(const M& m) {
    Layout layout;
    for (std::size_t d = 0; d < M::rank(); ++d) {
      layout.shape.push_back(static_cast<std::int64_t>(m.extent(d)));
      if constexpr (M::rank() > 0) {
        layout.strides.push_back(static_cast<std::int64_t>(m.stride(d)) *
                                 std::int64_t{sizeof(typename M::element_type)});
      }
    }
    return layout;
  }
};

///@{
/// The elements of an array of `rank` axes on the CPU device, of a mapped or managed array, or of
/// an array of xtensor (as page-locked ones are), as an mdspan: the same memory, no copy.
/// as_mdspan<2, quarry::md::layout_right>(a) has that layout, without strides. The array must
/// outlive it, and work queued on it must be done. Read-only arrays give elements of const. Throws
/// LogicError for an array on a GPU, for strides that an mdspan has not (negative ones, repeated
/// elements) and for one that is not contiguous as the layout says, ShapeError for another number
/// of axes.
template <std::size_t rank, class L = md::layout_stride, class T>
auto as_mdspan(const DeviceNDArray<T>& array) {
  return detail::mdspan_of<rank, L>(detail::host_elements(array), array.layout());
}
template <std::size_t rank, class L = md::layout_stride, class T, MemorySpace where>
auto as_mdspan(const HostVisibleNDArray<T, where>& array) {
  return detail::mdspan_of<rank, L>(array.host_pointer(), array.layout());
}
template <std::size_t rank, class L = md::layout_stride, StridedHostArray H>
auto as_mdspan(H& host) {
  const HostRef ref = host_ref(host);
  return detail::mdspan_of<rank, L>(reinterpret_cast<detail::HostElement<H>*>(ref.data),
                                    ref.layout);
}
///@}

}  // namespace quarry

#undef QUARRY_MDSPAN
#undef QUARRY_MDSPAN_ARRAY
