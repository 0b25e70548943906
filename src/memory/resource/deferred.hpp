// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

#include "backend/backend.hpp"

/// Frees that call the driver, which scopes of defer_cleanup() can defer.
namespace quarry::memory {

/// Device::free, unless a scope defers it.
void free_device_memory(backend::Device& device, void* memory, std::size_t bytes) noexcept;
/// Device::free_host, unless a scope defers it.
void free_host_memory(backend::Device& device, void* memory) noexcept;
/// Does the deferred frees now, for an allocation that fails and before the context is destroyed.
/// Returns whether there were any.
bool free_deferred(backend::Device& device) noexcept;
/// Between these calls frees are deferred; scopes nest, in any threads, and the last to end frees.
void begin_deferring(backend::Device& device);
void end_deferring(backend::Device& device);

}  // namespace quarry::memory
