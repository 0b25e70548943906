// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <list>
#include <mutex>

#include "memory/resource/caches.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry::memory {

/// For memory that the host writes to without stream order: freed memory returns to `upstream` only
/// when the work of all streams that have used it is done, the home stream's too. Only freeing the
/// caches waits.
class EventDeferredFree final : public Resource::Interface, public Cache {
 public:
  /// `device` is the result of the resource's device().
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
    detail::UnfinishedWork unfinished;
    void* memory;
    std::size_t bytes, alignment;
  };
  void release(const Pending& block) const noexcept;
  /// The blocks that are done with, or all of them.
  std::list<Pending> take(bool all);
  /// Frees the blocks that are done, or with `wait` all. Returns whether there were any.
  bool collect(bool wait);

  Resource upstream_;
  Device device_;
  Stream stream_;  // the only stream passed to upstream
  std::mutex mutex_;
  std::list<Pending> pending_;
};

}  // namespace quarry::memory
