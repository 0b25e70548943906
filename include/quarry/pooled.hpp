// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/memory_pool.hpp>
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xarray.hpp>
#endif

/// xtensor arrays in the blocks of a PageLockedMemoryPool: pool.allocate<float>({3, 4}).
namespace quarry {

template <class T>
using PooledArray = xt::xarray_container<xt::uvector<T, PooledAllocator<T>>,
                                         xt::layout_type::dynamic, xt::svector<std::size_t, 4>>;

template <class T>
struct PooledArrayOf<T, void> {
  /// Throws LogicError for an order that is neither C nor F.
  static PooledArray<T> make(const PageLockedMemoryPool& pool, const Shape& shape, Order order) {
    require<LogicError>(order != Order::a, "a new array is in C or in F order");
    const auto count = static_cast<std::size_t>(element_count(shape));
    typename PooledArray<T>::storage_type storage(count, PooledAllocator<T>(pool));
    typename PooledArray<T>::inner_shape_type extents(shape.begin(), shape.end());
    typename PooledArray<T>::inner_strides_type strides(shape.size());
    const auto layout =
        order == Order::c ? xt::layout_type::row_major : xt::layout_type::column_major;
    xt::compute_strides(extents, layout, strides);
    return PooledArray<T>(std::move(storage), std::move(extents), std::move(strides));
  }
};

}  // namespace quarry
