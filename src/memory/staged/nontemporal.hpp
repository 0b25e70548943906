// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

/// Copies for memory that this processor does not read again soon, and for every other element.
namespace quarry::memory {

/// memcpy with stores past the cache.
void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes);
/// What this thread has stored past the cache is there for every device on return.
void fence_stores();

/// Elements of 4 or 8 bytes that lie two elements apart, `count` of them, to (past the cache if
/// `nontemporal`) or from dense memory. Nothing between them is written.
void pack_every_other(std::byte* to, const std::byte* from, std::size_t itemsize, std::size_t count,
                      bool nontemporal);
void unpack_every_other(std::byte* to, const std::byte* from, std::size_t itemsize,
                        std::size_t count);

}  // namespace quarry::memory
