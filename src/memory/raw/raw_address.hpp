// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/device_pointer.hpp>

#include <initializer_list>
#include <optional>
#include <span>

/// Functions shared by the raw calls.
namespace quarry::memory {

/// Of the first pointer that knows, else the current one.
Device device_of(std::initializer_list<const DevicePtr*> pointers);

/// Called before work on the memory is queued in `stream`: then it may be dropped, and uploads
/// that have returned are visible to the work, even if memory and stream are of different GPUs.
/// `home` is the device of an address without a buffer, if it is not the stream's.
void used_on(const DevicePtr& p, const Stream& stream,
             const std::optional<Device>& home = std::nullopt);
void used_on(std::span<const std::byte> host, const Stream& stream);

/// Numbers of the caller; what does not fit in 63 bits throws SizeOverflow.
std::size_t size_sum(std::size_t a, std::size_t b);
std::size_t size_product(std::size_t a, std::size_t b);

}  // namespace quarry::memory
