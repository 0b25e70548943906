// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <string>

#include "backend/backend.hpp"

namespace quarry::memory {

/// The thresholds that decide the path of a copy, per GPU. Sizes in bytes.
struct TransferThresholds {
  /// Waiting copies of pageable memory smaller than this are left to the driver's own staging.
  std::size_t staged_bytes = std::size_t{1} << 20;
  /// The same for copies that do not wait: the driver takes up to this much without waiting.
  std::size_t taken_bytes = std::size_t{64} << 10;
  std::size_t chunk_bytes = std::size_t{8} << 20;    ///< of one buffer of the page-locked pool
  std::size_t least_chunk = std::size_t{512} << 10;  ///< the first and the last of a copy
  std::size_t buffers = 12;
  std::size_t pipeline_buffers = 6;  ///< that one copy uses
  /// Of a buffer, that a thread copies at a time; less in small copies.
  std::size_t block_bytes = std::size_t{128} << 10;
  std::size_t threads = 1;  ///< of copies of long runs, the calling one included
  std::size_t strided_threads = 1;
  /// Dense uploads up to this size use non-temporal stores, those of more than a chunk with fewer
  /// threads; and dense downloads above it.
  std::size_t nontemporal_bytes = std::size_t{128} << 20;
  std::size_t nontemporal_strided_bytes = std::size_t{96} << 20;  ///< uploads of strided memory
  /// Page-locked rows of at least this size are copied by the GPU without packing.
  std::size_t row_bytes = 64;
  std::size_t few_rows = 16;                        ///< so few rows are, however short
  std::size_t piece_bytes = std::size_t{64} << 10;  ///< the same for pieces of a batch
  std::size_t probe_bytes = std::size_t{64} << 10;  ///< the driver is queried for larger memory

  friend bool operator==(const TransferThresholds&, const TransferThresholds&) = default;
};

/// Of this process, for `device`: what was set, else constants. Any thread.
TransferThresholds thresholds_of(const backend::Device& device);
void set_thresholds(const backend::Device& device, const TransferThresholds& thresholds);
TransferThresholds default_thresholds();

/// Blocking copies of dense memory below this many bytes are left to the driver for any kind of
/// memory: one load, so that a small copy costs no more than the driver's call.
std::size_t driver_bytes() noexcept;

/// For the log of transfers.
std::string to_string(const TransferThresholds& thresholds);

}  // namespace quarry::memory
