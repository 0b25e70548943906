// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/memory_pool.hpp>
#include <quarry/pinned.hpp>

/// xtensor arrays in the blocks of a PageLockedMemoryPool: pool.allocate<float>({3, 4}).
namespace quarry {

/// An xtensor array whose memory is a block of a PageLockedMemoryPool.
template <class T>
using PooledArray = HostContainer<T, PooledAllocator<T>>;

/// What PageLockedMemoryPool::allocate<T>(shape) makes.
template <class T>
struct PooledArrayOf<T, void> {
  /// Uninitialised. Throws MemoryError.
  static PooledArray<T> make(const PageLockedMemoryPool& pool, const Shape& shape, Order order) {
    return detail::container<T>({shape, dense_strides(shape, sizeof(T), order)},
                                PooledAllocator<T>(pool));
  }
};

}  // namespace quarry
