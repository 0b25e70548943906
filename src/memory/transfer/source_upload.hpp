// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/transfer.hpp>

#include "memory/staged/byte_source.hpp"

namespace quarry::memory {

/// Fills an array without gaps with the bytes of `source`, in the order of its memory: they are
/// read into the page-locked buffers of staged copies, or straight into the CPU device's array.
/// Returns when the copy is done. Throws what the source throws; the array's elements are then
/// undefined. Throws LogicError if `stream` is captured.
void upload_source(const DeviceRef& to, const ByteSource& source, const Stream& stream);

}  // namespace quarry::memory
