// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

/// Copies for memory that this processor does not read again soon, and for every other element.
namespace quarry::memory {

/// memcpy with non-temporal stores.
void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes);
/// On return this thread's non-temporal stores are visible to every device.
void fence_stores();

/// Elements of 4 or 8 bytes that lie two elements apart, `count` of them, to or from dense memory.
/// Nothing between them is written.
void pack_every_other(std::byte* to, const std::byte* from, std::size_t itemsize,
                      std::size_t count);
void unpack_every_other(std::byte* to, const std::byte* from, std::size_t itemsize,
                        std::size_t count);

}  // namespace quarry::memory
