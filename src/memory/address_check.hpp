// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>

#include <span>

/// What is checked before a driver sees an address. Errors are LogicError and begin with the name
/// of the `call`.
namespace quarry::memory {

/// [p, p + bytes) is memory that `device` can use: p knows its memory, or the driver is asked.
void require_device_memory(const char* call, const DevicePtr& p, std::size_t bytes,
                           const Device& device);
/// The host can touch it.
void require_host_memory(const char* call, std::span<const std::byte> memory, const Device& device);

/// A copy of `bytes` bytes may go from the one to the other: they are apart, or the same. Throws
/// AliasError.
void require_apart(const char* call, const void* to, const void* from, std::size_t bytes);

}  // namespace quarry::memory
