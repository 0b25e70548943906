// SPDX-License-Identifier: BSD-3-Clause
#include "memory/resource/event_deferred_free.hpp"

#include <algorithm>

#include "base/forked.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/stream_order.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

/// Work in the default stream of the CPU is done when the call that queued it returns.
bool runs_at_once(const Stream& stream) { return stream.is_default() && stream.device().is_cpu(); }

using Events = std::vector<std::shared_ptr<ScopedEvent>>;

/// What `stream` has not done yet, as an event in `events`.
void add_unfinished(Events& events, const Stream& stream) {
  if (runs_at_once(stream)) return;
  const detail::StreamState& state = stream.state();
  if (!state.is_of_this_thread()) return memory::wait_for(stream);
  if (state.device->is_done(state.native)) return;
  auto event = std::make_shared<ScopedEvent>(*state.device);
  event->record(stream);
  events.push_back(std::move(event));
}

bool has_happened(const std::shared_ptr<ScopedEvent>& event) noexcept {
  try {
    return event->query();
  } catch (...) {
    return true;
  }
}

void wait_for(const Events& events) noexcept {
  for (const auto& event : events) {
    try {
      event->wait();
    } catch (...) {
    }
  }
}

}  // namespace

void wait_for_users(const Stream& home, std::span<const Stream> others) noexcept {
  if (!runs_at_once(home)) wait_quietly(home);
  for (const Stream& other : others) {
    if (!runs_at_once(other)) wait_quietly(other);
  }
}

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
  for (const Pending& block : pending_) {
    wait_for(block.unfinished);
    release(block);
  }
}

void EventDeferredFree::release(const Pending& block) const noexcept {
  upstream_.deallocate(stream_, block.memory, block.bytes, block.alignment);
}

std::vector<EventDeferredFree::Pending> EventDeferredFree::take(bool all) {
  const std::lock_guard lock(mutex_);
  const auto is_kept = [&](const Pending& block) {
    return !all && !std::all_of(block.unfinished.begin(), block.unfinished.end(), has_happened);
  };
  const auto first = std::partition(pending_.begin(), pending_.end(), is_kept);
  std::vector<Pending> over(first, pending_.end());
  pending_.erase(first, pending_.end());
  return over;
}

bool EventDeferredFree::collect(bool wait) {
  const std::vector<Pending> over = take(wait);
  for (const Pending& block : over) {
    if (wait) wait_for(block.unfinished);
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
  Pending block{{}, memory, bytes, alignment};
  try {
    add_unfinished(block.unfinished, stream);
    for (const Stream& other : others) add_unfinished(block.unfinished, other);
    if (!block.unfinished.empty()) {
      const std::lock_guard lock(mutex_);
      pending_.push_back(block);
      return;
    }
  } catch (...) {
    wait_for_users(stream, others);
  }
  release(block);
}

void EventDeferredFree::trim() {
  collect(true);
  upstream_.trim();
}

}  // namespace quarry::memory
