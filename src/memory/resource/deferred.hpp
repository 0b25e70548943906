// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

#include "backend/backend.hpp"

/// The frees that call the driver pass here, so that scopes of defer_cleanup() can put them off.
namespace quarry::memory {

/// Device::free, when no scope holds it back.
void free_device_memory(backend::Device& device, void* memory, std::size_t bytes) noexcept;
/// Device::free_host, when no scope holds it back.
void free_host_memory(backend::Device& device, void* memory) noexcept;
/// Frees now what scopes have put off, for an allocation that finds no memory and before the
/// context goes. Returns whether there was anything.
bool free_deferred(backend::Device& device) noexcept;
/// Between these frees are put off; scopes nest, in any threads, and the last to end frees.
void begin_deferring(backend::Device& device);
void end_deferring(backend::Device& device);

}  // namespace quarry::memory
