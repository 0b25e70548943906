// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include "backend/ledger.hpp"

namespace quarry::runtime {

/// The live objects on `device`, whoever owns them, with the library's own: memory of pools,
/// staging and its events. Does not wait.
backend::Inventory inventory(const Device& device);

/// The objects of programs on `device`: waits for all its work, frees the library's caches, and
/// counts the rest. For a pool's arrays it counts the pool's segments that contain them.
backend::Inventory owned_inventory(const Device& device);

/// Waits for the device's work, frees all of the library's caches of it, and returns the bytes that
/// arrays hold in pools.
std::size_t settle(backend::Device& device);

}  // namespace quarry::runtime
