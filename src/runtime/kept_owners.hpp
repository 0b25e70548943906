// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <cstddef>
#include <memory>
#include <span>

/// Owners of memory that queued work still uses.
namespace quarry::detail {

/// Releases `owner` once the present work of these streams is done: at once if they are idle, else
/// in a later call that waits for, queries or creates a device or a stream. Waits itself only for
/// the per-thread stream of another thread, and if no memory is left to store the owner. Not to be
/// called in a callback.
void keep_until_done(std::shared_ptr<void> owner, const Stream& home,
                     std::span<const Stream> others) noexcept;

/// Releases the owners whose work is done; stops after `patience` ones whose work is not.
void end_kept_owners(std::size_t patience = 16) noexcept;

}  // namespace quarry::detail
