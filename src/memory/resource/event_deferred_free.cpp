// SPDX-License-Identifier: BSD-3-Clause
#include "memory/resource/event_deferred_free.hpp"

#include <new>
#include <utility>

#include "base/forked.hpp"
#include "memory/resource/relief.hpp"

namespace quarry::memory {

EventDeferredFree::EventDeferredFree(Resource upstream, const Device& device)
    : upstream_(std::move(upstream)),
      device_(device),
      stream_(default_stream(upstream_.device())) {}

Resource EventDeferredFree::make(Resource upstream, const Device& device) {
  auto made = std::make_shared<EventDeferredFree>(std::move(upstream), device);
  add_cache(made);
  return Resource(std::move(made));
}

EventDeferredFree::~EventDeferredFree() {
  if (is_forked()) return;
  for (Pending& block : pending_) {
    block.unfinished.wait();
    release(block);
  }
}

void EventDeferredFree::release(const Pending& block) const noexcept {
  upstream_.deallocate(stream_, block.memory, block.bytes, block.alignment);
}

std::list<EventDeferredFree::Pending> EventDeferredFree::take(bool all) {
  std::list<Pending> over;
  const std::lock_guard lock(mutex_);
  for (auto next = pending_.begin(); next != pending_.end();) {
    const auto block = next++;
    if (all || block->unfinished.is_done()) over.splice(over.end(), pending_, block);
  }
  return over;
}

bool EventDeferredFree::collect(bool wait) {
  std::list<Pending> over = take(wait);
  for (Pending& block : over) {
    block.unfinished.wait();
    release(block);
  }
  return !over.empty();
}

void* EventDeferredFree::allocate(const Stream&, std::size_t bytes, std::size_t alignment) {
  return with_relief(owner(), bytes, [&] {
    collect(false);
    return upstream_.allocate(stream_, bytes, alignment);
  });
}

void EventDeferredFree::deallocate(const Stream& stream, std::span<const Stream> others,
                                   void* memory, std::size_t bytes,
                                   std::size_t alignment) noexcept {
  if (is_forked()) return;
  Pending block{detail::UnfinishedWork(stream, others), memory, bytes, alignment};
  if (block.unfinished.is_empty()) return release(block);
  try {
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(block));
    return;
  } catch (const std::bad_alloc&) {  // no memory to remember it
  }
  block.unfinished.wait();
  release(block);
}

void EventDeferredFree::trim() {
  collect(true);
  upstream_.trim();
}

}  // namespace quarry::memory
