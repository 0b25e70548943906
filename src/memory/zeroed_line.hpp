// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>
#include <quarry/runtime/stream.hpp>

#include <memory>

namespace quarry::memory {

/// 256 bytes of the device that are 0. Kernels may write them and have to leave them 0: they are
/// freed, in the order of the stream, for the next one who wants such bytes. Nothing waits, nothing
/// is queued in the stream.
std::shared_ptr<Buffer> new_zeroed_line(const Stream& stream);

}  // namespace quarry::memory
