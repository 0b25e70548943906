// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <cstddef>

#include "backend/backend.hpp"
#include "memory/staged/pack.hpp"
#include "memory/staged/thresholds.hpp"

namespace quarry::memory {

/// Packed bytes on a GPU and the host memory that has them, in the order of `walk`.
struct StagedCopy {
  backend::Device* device;
  backend::Direction direction;
  std::byte* on_device;
  std::byte* on_host;
  const Walk* walk;
  const TransferThresholds* thresholds;
};

/// Carries the bytes in chunks through page-locked buffers, with several threads; the GPU's side
/// is queued in `stream`, which should hold nothing else. An upload returns when the host memory
/// has been read and the last chunk is queued, a download when the host memory has been written.
/// Where the system gives no page-locked memory the driver's own copies do it, slower. After a
/// throw nothing is on its way any more, and the bytes of the destination are undefined.
void run_staged(const StagedCopy& copy, const Stream& stream);

}  // namespace quarry::memory
