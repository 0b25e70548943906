// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <cstddef>
#include <memory>
#include <span>

/// Owners of memory that queued work still uses.
namespace quarry::detail {

/// Drops `owner` once what these streams hold now is done: at once if nothing is at work, else in a
/// later call that waits for a device or for a stream, or asks or makes one. Waits itself only for
/// the per-thread stream of another thread, and where there is no memory to remember the owner.
/// Not to be called in a callback.
void keep_until_done(std::shared_ptr<void> owner, const Stream& home,
                     std::span<const Stream> others) noexcept;

/// Drops the owners whose work is done; gives up after so many whose work is not.
void end_kept_owners(std::size_t patience = 16) noexcept;

}  // namespace quarry::detail
