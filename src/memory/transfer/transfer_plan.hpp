// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "memory/staged/pack.hpp"
#include "memory/staged/thresholds.hpp"
#include "memory/transfer/host_copy.hpp"

/// The plan of a copy between the host and a GPU: a pure function of numbers.
namespace quarry::memory {

/// Rows and slices of two blocks of memory, as in backend::Copy.
struct Rectangle {
  std::size_t bytes, rows, slices;
  std::size_t host_pitch, device_pitch, host_slice, device_slice;
};

/// How the bytes cross the link.
enum class Route {
  direct,     ///< one copy of the driver; the host memory is dense
  rectangle,  ///< rows by the GPU's copy engine
  batch,      ///< many pieces in one call
  packed,     ///< through pageable memory in one piece
  staged      ///< through the page-locked pool, in chunks
};

struct TransferInput {
  bool page_locked;  ///< the host memory
  bool batches;      ///< the driver has batched copies in this stream
  /// The driver cannot copy the host memory in one piece, since only part of it is registered. Then
  /// it is not page-locked.
  bool split = false;
};

/// The host's elements one after another in the order of its addresses, each once.
struct PackedHost {
  std::size_t bytes;
  Walk walk;      ///< of the host memory
  Layout layout;  ///< of the packed bytes; axes along which the host repeats have stride 0
};
PackedHost packed_host(const HostCopy& copy);

struct TransferPlan {
  Route route;
  PackedHost packed;  ///< what crosses the link
  /// The device memory has the packed order itself (or, for rectangles, rows of its own), so that
  /// no second copy on the device is needed.
  bool lands;
  std::optional<Rectangle> rectangle = std::nullopt;
};

/// Elements have one type. A repeating host (stride 0) must be the source.
TransferPlan plan_transfer(const HostCopy& copy, const TransferInput& input,
                           const TransferThresholds& thresholds);

std::string to_string(Route route);

}  // namespace quarry::memory
