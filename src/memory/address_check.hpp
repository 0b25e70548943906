// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>

#include <span>

/// Checks of addresses before driver calls. Errors are LogicError and begin with the name of the
/// `call`.
namespace quarry::memory {

/// [p, p + bytes) is accessible to `device`: p knows its memory, or the driver is queried.
void require_device_memory(const char* call, const DevicePtr& p, std::size_t bytes,
                           const Device& device);
/// The host can access it.
void require_host_memory(const char* call, std::span<const std::byte> memory, const Device& device);

/// The ranges of a copy of `bytes` bytes are disjoint, or equal. Throws
/// AliasError.
void require_apart(const char* call, const void* to, const void* from, std::size_t bytes);

}  // namespace quarry::memory
