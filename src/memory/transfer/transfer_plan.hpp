// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "memory/staged/pack.hpp"
#include "memory/staged/thresholds.hpp"

/// How an array is carried between the host and a GPU: decided from numbers alone.
namespace quarry::memory {

/// Rows and slices of two blocks of memory, as backend::Copy has them.
struct Rectangle {
  std::size_t bytes, rows, slices;
  std::size_t host_pitch, device_pitch, host_slice, device_slice;
};

/// How the bytes cross.
enum class Route {
  direct,     ///< one copy of the driver; the host memory is dense
  rectangle,  ///< rows by the GPU's copy engine
  batch,      ///< many pieces in one call
  packed,     ///< through pageable memory in one piece
  staged      ///< through the page-locked pool, in chunks
};

struct TransferInput {
  Shape shape;
  Strides host, device;  ///< bytes
  std::size_t itemsize;
  bool page_locked;   ///< the host memory
  bool waits;         ///< the caller waits for the copy
  bool batches;       ///< the driver has batched copies in this stream
  bool down = false;  ///< from the GPU to the host
  /// The driver cannot copy the host memory in one piece, since it knows a part of it alone. Then
  /// it is not page-locked.
  bool split = false;
};

struct TransferPlan {
  Route route;
  std::size_t bytes;                        ///< that cross the link
  Walk host;                                ///< from `host_offset` on
  std::int64_t host_offset, device_offset;  ///< of the first element in host order, from element 0
  /// The elements in the order of the host's memory: where the packed bytes have them, and where
  /// the device does. Axes along which the host repeats have packed stride 0.
  Layout packed;
  Strides device;
  /// The device memory has the packed order itself (or, for rectangles, rows of its own), so that
  /// no second copy on the device is needed.
  bool lands;
  std::optional<Rectangle> rectangle = std::nullopt;
};

/// `input` has elements. A repeating host (stride 0) must be the source.
TransferPlan plan_transfer(const TransferInput& input, const TransferThresholds& thresholds);

std::string to_string(Route route);

}  // namespace quarry::memory
