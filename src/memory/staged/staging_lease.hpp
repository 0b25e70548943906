// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <utility>

#include "memory/staged/staging_pool.hpp"

namespace quarry::memory {

/// A buffer while a copy holds it: it returns to the pool at the end of the scope.
class StagingLease {
 public:
  static std::optional<StagingLease> of(StagingPool& pool, backend::Device& device,
                                        std::optional<StagingBuffer> buffer) {
    if (!buffer) return std::nullopt;
    return StagingLease(pool, device, std::move(*buffer));
  }
  StagingLease(StagingLease&& other) noexcept
      : pool_(other.pool_),
        device_(other.device_),
        buffer_(std::exchange(other.buffer_, {})),
        is_loose_(other.is_loose_) {}
  StagingLease& operator=(StagingLease&&) = delete;
  ~StagingLease() {
    if (!buffer_.memory) return;
    is_loose_ ? pool_->abandon(std::move(buffer_)) : pool_->release(std::move(buffer_));
  }

  std::byte* memory() const { return buffer_.memory; }
  /// Where to put a chunk of `bytes`, of which the buffer holds at least one: after the last one,
  /// so that small copies too go through all of the buffer.
  std::byte* place(std::size_t bytes);
  /// Queues a copy from or to the buffer, and records when it is done.
  void copy(const backend::Copy& copy, const Stream& stream);
  /// Waits until the last copy is done.
  void wait() {
    device_->wait(buffer_.event);
    rest();
  }
  /// The last copy is done: its stream was waited for.
  void rest() { buffer_.is_idle = true; }

  ///@{
  /// For a queued download, which fills the parts of its buffer in copy streams.
  const std::vector<CopyStream>& copy_streams() const { return buffer_.copy_streams; }
  void make_copy_streams(std::size_t count);
  /// The first `streams` copy streams wait for what `user` has queued.
  void start(const Stream& user, std::size_t streams);
  /// `user` waits for them. If this throws the buffer is abandoned.
  void finish(const Stream& user, std::size_t streams);
  ///@}

 private:
  StagingLease(StagingPool& pool, backend::Device& device, StagingBuffer buffer)
      : pool_(&pool), device_(&device), buffer_(std::move(buffer)) {}

  StagingPool* pool_;
  backend::Device* device_;
  StagingBuffer buffer_;
  bool is_loose_ = false;  ///< a copy is pending whose completion cannot be observed
};

}  // namespace quarry::memory
