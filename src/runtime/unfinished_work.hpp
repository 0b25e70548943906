// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/stream.hpp>

#include <span>
#include <utility>
#include <vector>

#include "backend/backend.hpp"

/// The unfinished work of streams, to be queried or waited for later.
namespace quarry::detail {

/// The owner of an event of the backend. The event does not propagate errors.
class ScopedEvent {
 public:
  explicit ScopedEvent(backend::Device& device)
      : device_(&device), event_(device.create_event(backend::EventKind::order_only)) {}
  ScopedEvent(ScopedEvent&& other) noexcept
      : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}
  ScopedEvent& operator=(ScopedEvent&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~ScopedEvent() {
    if (event_) device_->destroy_event(event_);
  }

  backend::Event native() const { return event_; }
  backend::Device& device() const { return *device_; }
  void record(backend::Stream stream) const { device_->record(event_, stream); }
  bool query() const { return device_->query(event_); }
  void wait() const { device_->wait(event_); }

 private:
  backend::Device* device_;
  backend::Event event_;
};

/// The work queued in some streams, possibly of several devices, at construction. Not to be used in
/// a callback.
class UnfinishedWork {
 public:
  UnfinishedWork() = default;
  /// Does not wait, except for the per-thread stream of another thread, and for the whole device if
  /// no event can be created or stored.
  UnfinishedWork(const Stream& stream, std::span<const Stream> others) noexcept;

  bool is_empty() const noexcept { return ends_.empty(); }  ///< no work is left
  /// Whether all of it is done. Does not wait. A lost device has no work left.
  bool is_done() noexcept;
  /// Waits on the host. Errors of the work are left for the next synchronisation of the streams.
  void wait() noexcept;

 private:
  void add(const Stream& stream) noexcept;

  std::vector<ScopedEvent> ends_;  ///< of what is not known to be done
};

}  // namespace quarry::detail
