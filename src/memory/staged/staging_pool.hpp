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
#include "runtime/unfinished_work.hpp"

namespace quarry::memory {

/// A stream that fills a part of a buffer, and the event of its last copy.
struct CopyStream {
  Stream stream;
  detail::ScopedEvent end;
};

/// A piece of page-locked memory. It may be reused once `event` has completed. Queries of events
/// take longer than a small chunk, so what is known of it is kept.
struct StagingBuffer {
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  std::size_t next = 0;  ///< where its next chunk is put
  backend::Event event = nullptr;
  bool is_idle = true;  ///< `event` is known to have completed
  // of queued downloads:
  std::weak_ptr<detail::StreamState> user;  ///< may reuse it at once, behind its own earlier work
  std::vector<CopyStream> copy_streams;     ///< wait for work of the user, so they go with it
};

/// The page-locked buffers of one GPU and one kind of load, made when first needed. Those of
/// waiting copies are filled and emptied in streams that contain only copies between buffers and
/// the GPU: waiting for a buffer means waiting for the link, never for work of the program. A
/// queued download is part of the program's work: nobody waits for its buffer.
class StagingPool {
 public:
  /// What buffers are for, which decides their size and number: chunks; or all parts of one queued
  /// download, as many buffers as there are at a time.
  enum class Load { chunks, queued_downloads };
  static constexpr Load loads[] = {Load::chunks, Load::queued_downloads};

  StagingPool(backend::Device& device, Load load) : device_(device), load_(load) {}
  static StagingPool& of(backend::Device& device, Load load = Load::chunks);

  /// A buffer of at least `bytes`; waits until one is free. Empty if no page-locked memory can be
  /// allocated at all. Must not be called while holding a buffer.
  std::optional<StagingBuffer> acquire(std::size_t bytes, const TransferThresholds& t);
  /// The same without waiting.
  std::optional<StagingBuffer> try_acquire(std::size_t bytes, const TransferThresholds& t);
  /// A buffer of exactly `bytes` for a download queued in `stream`: the one released last that is
  /// done or was used by the same stream, else a new one. Does not wait. Empty if no page-locked
  /// memory can be allocated.
  std::optional<StagingBuffer> acquire_for(const Stream& stream, std::size_t bytes);
  /// Returns the buffer to the pool; its copies have been recorded in its event.
  void release(StagingBuffer buffer) noexcept;
  /// A buffer whose copies could not be recorded: it is freed when trim() has waited for the
  /// device.
  void abandon(StagingBuffer buffer) noexcept;

  /// The stream of copies that way: neither waits for the legacy default stream nor makes it wait.
  Stream stream(backend::Direction direction);

  /// Frees the buffers that are not held, and the streams; waits for waiting copies, but leaves the
  /// buffers of queued downloads that are not done.
  void trim() noexcept;
  std::size_t buffers() const;

 private:
  std::optional<StagingBuffer> take(std::size_t bytes, const TransferThresholds& t, bool may_wait);
  std::optional<StagingBuffer> grow(std::size_t bytes, std::unique_lock<std::mutex>& lock);
  std::optional<StagingBuffer> make(std::size_t bytes);
  StagingBuffer fitting(StagingBuffer buffer, std::size_t bytes);
  using Place = std::vector<StagingBuffer>::iterator;
  void destroy(std::vector<StagingBuffer>& buffers, Place at,
               std::unique_lock<std::mutex>& lock) noexcept;
  bool may_be_freed(const StagingBuffer& buffer) noexcept;
  void free_abandoned() noexcept;

  bool is_idle(StagingBuffer& buffer) const;

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
