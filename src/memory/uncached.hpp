// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>

/// Copies for memory that this processor does not read again soon, and for every other element.
namespace quarry::memory {

/// memcpy with stores past the cache, complete for every device on return.
void copy_uncached(std::byte* to, const std::byte* from, std::size_t bytes);

/// Elements of 4 or 8 bytes that lie two elements apart, `count` of them, to or from dense memory.
/// Nothing between them is written.
void gather_every_other(std::byte* to, const std::byte* from, std::size_t itemsize,
                        std::size_t count);
void scatter_every_other(std::byte* to, const std::byte* from, std::size_t itemsize,
                         std::size_t count);

}  // namespace quarry::memory
