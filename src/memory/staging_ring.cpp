// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staging_ring.hpp"
#include "memory/caches.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "memory/transfer_thresholds.hpp"

namespace quarry::memory {
namespace {

struct Rings {
  std::mutex mutex;
  std::map<std::pair<backend::Device*, Ring::Load>, std::unique_ptr<Ring>> all;
  static Rings& instance() {
    static auto* const rings = new Rings;  // outlives the threads that still use it at exit
    return *rings;
  }
};

}  // namespace

Ring& Ring::of(backend::Device& device, Load load) {
  [[maybe_unused]] static const bool registered = (add_trim(trim_staging), true);
  Rings& rings = Rings::instance();
  const std::lock_guard lock(rings.mutex);
  auto& ring = rings.all[{&device, load}];
  if (!ring) ring = std::make_unique<Ring>(device, load);
  return *ring;
}

/// Two copies of long runs may go at the same time before a third one waits.
std::size_t Ring::most_slots() const {
  const TransferThresholds t = thresholds_of(device_);
  return load_ == Load::short_runs ? t.slots : std::min(t.slots, 2 * t.convoy_slots);
}
std::size_t Ring::slot_bytes() const {
  const TransferThresholds t = thresholds_of(device_);
  return load_ == Load::short_runs ? std::min(t.strided_bytes, t.chunk_bytes) : t.chunk_bytes;
}

std::optional<Slot> Ring::acquire(std::size_t bytes) { return take(bytes, true); }
std::optional<Slot> Ring::try_acquire(std::size_t bytes) { return take(bytes, false); }

std::optional<Slot> Ring::take(std::size_t bytes, bool may_wait) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!free_.empty() && device_.query(free_.front().event)) break;
    if (count_ < most_slots()) {
      free_.reserve(count_ + 1);  // so that a release needs no memory
      abandoned_.reserve(abandoned_.size() + count_ + 1);
      ++count_;
      lock.unlock();
      if (auto slot = grow(bytes)) return slot;
      lock.lock();
      --count_;
      released_.notify_all();
      if (count_ == 0) return std::nullopt;
    }
    if (!may_wait) return std::nullopt;
    if (!free_.empty()) break;
    released_.wait(lock);
  }
  const Slot slot = free_.front();
  free_.erase(free_.begin());
  lock.unlock();
  return fitting(slot, bytes);
}

std::optional<Slot> Ring::grow(std::size_t bytes) {
  Slot slot{nullptr, std::max(bytes, slot_bytes()), nullptr};
  try {
    slot.memory = static_cast<std::byte*>(device_.allocate_host(slot.bytes, {.portable = true}));
    if (!slot.memory) return std::nullopt;
    slot.event = device_.create_event({.timing = false});
    return slot;
  } catch (const std::exception&) {
    if (slot.memory) device_.free_host(slot.memory);
    return std::nullopt;
  }
}

/// The slot, idle; another one in its place if it is too small.
Slot Ring::fitting(Slot slot, std::size_t bytes) {
  try {
    device_.wait(slot.event);
    if (slot.bytes >= bytes) return slot;
    void* const larger = device_.allocate_host(bytes, {.portable = true});
    if (!larger) throw MemoryError("no page-locked memory for a larger slot");
    device_.free_host(std::exchange(slot.memory, static_cast<std::byte*>(larger)));
    slot.bytes = bytes;
    return slot;
  } catch (...) {
    release(slot);
    throw;
  }
}

void Ring::release(const Slot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }
  released_.notify_one();
}

void Ring::abandon(const Slot& slot) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --count_;
    abandoned_.push_back(slot);
  }
  released_.notify_all();
}

Stream Ring::stream(backend::Direction direction) {
  const std::lock_guard lock(mutex_);
  auto& found = direction == backend::Direction::host_to_device ? up_ : down_;
  if (!found) found = quarry::stream({.non_blocking = true, .device = Device(device_)});
  return *found;
}

/// With the lock, without which the slot is destroyed. One by one, since a copy of the list would
/// take memory.
void Ring::destroy_first(std::vector<Slot>& slots, std::unique_lock<std::mutex>& lock) noexcept {
  const Slot slot = slots.front();
  slots.erase(slots.begin());
  lock.unlock();
  try {
    device_.wait(slot.event);
  } catch (const std::exception&) {  // a lost device: nothing of it is left
  }
  device_.destroy_event(slot.event);
  device_.free_host(slot.memory);
  lock.lock();
}

void Ring::trim() noexcept {
  std::optional<Stream> up, down;
  std::unique_lock lock(mutex_);
  up.swap(up_);
  down.swap(down_);
  while (!free_.empty()) {
    --count_;
    destroy_first(free_, lock);
  }
  lock.unlock();
  released_.notify_all();
  free_abandoned();
}

/// Where the device cannot be waited for they stay.
void Ring::free_abandoned() noexcept {
  const std::lock_guard alone(trimming_);
  std::unique_lock lock(mutex_);
  const std::size_t count = abandoned_.size();
  if (count == 0) return;
  lock.unlock();
  try {
    device_.synchronize();
  } catch (const std::exception&) {
    return;
  }
  lock.lock();
  for (std::size_t i = 0; i < count; ++i) destroy_first(abandoned_, lock);
}

std::size_t Ring::slots() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void trim_staging(backend::Device& device) {
  for (const auto load : {Ring::Load::long_runs, Ring::Load::short_runs}) {
    Ring::of(device, load).trim();
  }
}

}  // namespace quarry::memory
