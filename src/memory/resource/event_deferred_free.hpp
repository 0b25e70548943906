// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <memory>
#include <mutex>
#include <vector>

#include "memory/resource/caches.hpp"
#include "memory/resource/stream_order.hpp"

namespace quarry::memory {

/// Waits on the host for the streams that have used memory of the host. The CPU's default stream is
/// not one of them: its work is done when the call that queued it returns.
void wait_for_users(const Stream& home, std::span<const Stream> others) noexcept;

/// Memory that the host writes to without asking any stream: freed memory goes back to `upstream`
/// only when the work of all streams that have used it is done, the home stream's too. Nothing
/// waits but what gives back the memory of caches.
class EventDeferredFree final : public Resource::Interface, public Cache {
 public:
  /// `device` is what the resource says it belongs to.
  static Resource make(Resource upstream, const Device& device);
  EventDeferredFree(Resource upstream, const Device& device);
  ~EventDeferredFree() override;
  EventDeferredFree(const EventDeferredFree&) = delete;
  EventDeferredFree& operator=(const EventDeferredFree&) = delete;

  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) override;
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) noexcept override;
  MemorySpace space() const override { return upstream_.space(); }
  Device device() const override { return device_; }
  std::string name() const override { return upstream_.name(); }
  void trim() override;

  backend::Device& owner() const noexcept override { return upstream_.device().backend(); }
  void give_back() override { collect(true); }

 private:
  struct Pending {
    std::vector<std::shared_ptr<ScopedEvent>> unfinished;
    void* memory;
    std::size_t bytes, alignment;
  };
  void release(const Pending& block) const noexcept;
  /// The blocks that are done with, or all of them.
  std::vector<Pending> take(bool all);
  /// Gives back what is done with, or with `wait` everything. Returns whether there was anything.
  bool collect(bool wait);

  Resource upstream_;
  Device device_;
  Stream stream_;  // all that upstream sees
  std::mutex mutex_;
  std::vector<Pending> pending_;
};

}  // namespace quarry::memory
