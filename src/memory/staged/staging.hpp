// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <cstddef>

#include "backend/backend.hpp"
#include "memory/staged/byte_source.hpp"
#include "memory/staged/pack.hpp"
#include "memory/staged/thresholds.hpp"

namespace quarry::memory {

/// Packed bytes on a GPU and the corresponding host memory, in the order of `walk`.
struct StagedCopy {
  backend::Device* device;
  backend::Direction direction;
  std::byte* on_device;
  std::byte* on_host;
  const Walk* walk;
  const TransferThresholds* thresholds;
  bool waits;                          ///< until the copy is done
  const ByteSource* source = nullptr;  ///< of an upload, instead of memory at `on_host`

  /// Bytes [first, last) of what is uploaded.
  void take(std::size_t first, std::size_t last, std::byte* to, Stores stores) const {
    if (source) return source->read(first, {to, last - first});
    pack(*walk, on_host, first, last, to, stores);
  }
};

/// Copies the bytes in chunks through page-locked buffers, with several threads; the GPU's side is
/// queued in `stream`, which should have no other work. An upload that does not wait returns when
/// the host memory has been read and the last chunk is queued; a download always waits. If no
/// page-locked memory can be allocated the driver's own copies are used, which are slower. After a
/// throw no copy is pending, and the bytes of the destination are undefined.
void run_staged(const StagedCopy& copy, const Stream& stream);

}  // namespace quarry::memory
