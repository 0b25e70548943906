// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>
#include <quarry/memory/transfer.hpp>

#include <initializer_list>
#include <span>

/// What the raw calls check before a driver sees an address. Errors are LogicError and begin with
/// the name of the `call`.
namespace quarry::memory {

/// Of the first pointer that knows, else the current one.
Device device_of(std::initializer_list<const DevicePtr*> pointers);

/// [p, p + bytes) is memory that `device` can use: p knows its memory, or the driver is asked.
void require_device_memory(const char* call, const DevicePtr& p, std::size_t bytes,
                           const Device& device);
/// The host can touch it.
void require_host_memory(const char* call, std::span<const std::byte> memory, const Device& device);

/// A copy of `bytes` bytes may go from the one to the other: they are apart, or the same. Throws
/// AliasError.
void require_apart(const char* call, const void* to, const void* from, std::size_t bytes);
/// Throws LogicError for a host array at a null address.
void require_address(const HostRef& host);

/// To be called before work on the memory is queued in `stream`: it may be dropped then.
void used_on(const DevicePtr& p, const Stream& stream);
void used_on(std::span<const std::byte> host, const Stream& stream);

/// Numbers of the caller; what does not fit in 63 bits throws SizeOverflow.
std::size_t size_sum(std::size_t a, std::size_t b);
std::size_t size_product(std::size_t a, std::size_t b);

}  // namespace quarry::memory
