// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/backend.hpp"
#include "memory/staged/thresholds.hpp"

namespace quarry::memory {

/// A piece of page-locked memory. It may be reused once `event` has completed.
struct StagingBuffer {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  backend::Event event = nullptr;
};

/// The page-locked buffers of one GPU and one kind of load, made when first needed, and streams
/// that contain only copies between buffers and the GPU: waiting for a buffer means waiting for the
/// link, never for work of the program.
class StagingPool {
 public:
  /// What buffers are for, which decides their size: chunks of long runs, or of short ones.
  enum class Load { long_runs, short_runs };

  StagingPool(backend::Device& device, Load load) : device_(device), load_(load) {}
  static StagingPool& of(backend::Device& device, Load load = Load::long_runs);

  /// A buffer of at least `bytes`; waits until one is free. Empty if no page-locked memory can be
  /// allocated at all. Must not be called while holding a buffer.
  std::optional<StagingBuffer> acquire(std::size_t bytes, const TransferThresholds& t);
  /// The same without waiting.
  std::optional<StagingBuffer> try_acquire(std::size_t bytes, const TransferThresholds& t);
  /// Returns the buffer to the pool; its copies have been recorded in its event.
  void release(const StagingBuffer& buffer) noexcept;
  /// A buffer whose copies could not be recorded: it is freed when trim() has waited for the
  /// device.
  void abandon(const StagingBuffer& buffer) noexcept;

  /// The stream of copies that way: neither waits for the legacy default stream nor makes it wait.
  Stream stream(backend::Direction direction);

  /// Waits for the buffers that are not held and frees them, and the streams.
  void trim() noexcept;
  std::size_t buffers() const;

 private:
  std::optional<StagingBuffer> take(std::size_t bytes, const TransferThresholds& t, bool may_wait);
  std::optional<StagingBuffer> grow(std::size_t bytes);
  StagingBuffer fitting(StagingBuffer buffer, std::size_t bytes);
  void destroy_first(std::vector<StagingBuffer>& buffers,
                     std::unique_lock<std::mutex>& lock) noexcept;
  void free_abandoned() noexcept;

  std::size_t most_buffers(const TransferThresholds& t) const;
  std::size_t buffer_bytes(const TransferThresholds& t) const;

  backend::Device& device_;
  const Load load_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::vector<StagingBuffer> free_;  ///< the one that was released first comes first
  std::size_t count_ = 0;            ///< of free and held ones
  std::mutex trimming_;              ///< needed to remove buffers from `abandoned_`
  std::vector<StagingBuffer> abandoned_;
  std::optional<Stream> up_, down_;
};

/// Frees what staged copies have cached for `device`: page-locked buffers that are not in use.
void trim_staging(backend::Device& device);

}  // namespace quarry::memory
