// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "memory/gather.hpp"

/// How an array is carried between the host and a GPU: decided from numbers alone.
namespace quarry::memory {

/// What the plans depend on, per GPU. Sizes in bytes.
struct TransferThresholds {
  /// Waiting copies of pageable memory smaller than this are left to the driver's own staging.
  std::size_t staged_bytes = std::size_t{1} << 20;
  /// The same for copies that do not wait: the driver takes up to this much without waiting.
  std::size_t taken_bytes = std::size_t{64} << 10;
  std::size_t chunk_bytes = std::size_t{8} << 20;    ///< of one slot of the page-locked ring
  std::size_t least_chunk = std::size_t{512} << 10;  ///< the first and the last of a copy
  std::size_t slots = 24;
  std::size_t convoy_slots = 4;                      ///< that one copy of long runs uses
  std::size_t block_bytes = std::size_t{128} << 10;  ///< of a slot, that a thread copies at a time
  std::size_t threads = 1;  ///< of copies of long runs, the calling one included
  std::size_t strided_threads = 1;
  std::size_t strided_bytes = std::size_t{1} << 20;  ///< of a chunk of short runs
  /// Uploads up to this much are stored past the cache; of more than a chunk by fewer threads.
  std::size_t uncached_bytes = std::size_t{128} << 20;
  std::size_t uncached_strided_bytes = std::size_t{96} << 20;  ///< the same, of short runs
  /// Page-locked rows of at least this much are copied by the GPU straight from where they lie.
  std::size_t row_bytes = 64;
  std::size_t few_rows = 16;                        ///< so few rows are, however short
  std::size_t piece_bytes = std::size_t{64} << 10;  ///< the same for pieces of a batch
  std::size_t probe_bytes = std::size_t{64} << 10;  ///< the driver is asked about larger memory

  friend bool operator==(const TransferThresholds&, const TransferThresholds&) = default;
};

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
  staged      ///< through the page-locked ring, in chunks
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

/// Where the chunks of a copy of long runs end, of `least` to `most` bytes (the last one may be
/// smaller): so that both the link and the threads have work soon, all the time, and up to the end.
std::vector<std::size_t> chunk_ends(std::size_t bytes, std::size_t least, std::size_t most);
/// Whether a staged copy of long runs is stored past the cache, and how many threads carry it.
bool is_uncached(std::size_t bytes, bool up, const TransferThresholds& thresholds);
std::size_t convoy_threads(std::size_t bytes, bool up, const TransferThresholds& thresholds);
/// Bytes of a chunk of one of short runs, so that all threads have some.
std::size_t strided_chunk(std::size_t bytes, const TransferThresholds& thresholds);

std::string to_string(Route route);

}  // namespace quarry::memory
