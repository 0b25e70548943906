// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include "memory/staged/staging.hpp"

namespace quarry::memory {

/// A download that the caller does not wait for, into memory that the GPU cannot reach: copies into
/// page-locked buffers and the functions that empty them are queued, so that the bytes are in the
/// host memory when the copy is done. Later work in the stream waits for that. Does not wait.
/// Returns false, with nothing queued, if no page-locked memory can be allocated.
bool download_later(const StagedCopy& copy, const Stream& stream);

}  // namespace quarry::memory
