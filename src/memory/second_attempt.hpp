// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/pool.hpp>

#include "memory/deferred.hpp"

namespace quarry::memory {

/// What `allocate()` returns; when it throws MemoryError, once more after the device's pool has
/// given back what it caches.
template <class F>
auto with_second_attempt(const Device& device, F&& allocate) {
  try {
    return allocate();
  } catch (const MemoryError&) {
    trim_pool(device);
    free_deferred(device.backend());
    return allocate();
  }
}

}  // namespace quarry::memory
