// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/staging_pool.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "memory/resource/caches.hpp"
#include "runtime/stream_lifetime.hpp"

namespace quarry::memory {
namespace {

struct StagingPools {
  std::mutex mutex;
  std::map<std::pair<backend::Device*, StagingPool::Load>, std::unique_ptr<StagingPool>> all;
  static StagingPools& instance() {
    static auto* const pools = new StagingPools;  // outlives the threads that still use it at exit
    return *pools;
  }
};

}  // namespace

StagingPool& StagingPool::of(backend::Device& device, Load load) {
  [[maybe_unused]] static const bool registered = (add_trim(trim_staging), true);
  StagingPools& pools = StagingPools::instance();
  const std::lock_guard lock(pools.mutex);
  auto& pool = pools.all[{&device, load}];
  if (!pool) pool = std::make_unique<StagingPool>(device, load);
  return *pool;
}

bool StagingPool::is_idle(StagingBuffer& buffer) const {
  return buffer.is_idle = buffer.is_idle || device_.query(buffer.event);
}

std::optional<StagingBuffer> StagingPool::acquire(std::size_t bytes, const TransferThresholds& t) {
  return take(bytes, t, true);
}
std::optional<StagingBuffer> StagingPool::try_acquire(std::size_t bytes,
                                                      const TransferThresholds& t) {
  return take(bytes, t, false);
}

std::optional<StagingBuffer> StagingPool::take(std::size_t bytes, const TransferThresholds& t,
                                               bool may_wait) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!free_.empty() && is_idle(free_.front())) break;
    if (count_ < t.buffers) {
      if (auto buffer = grow(std::max(bytes, t.chunk_bytes), lock)) return buffer;
      if (count_ == 0) return std::nullopt;
    }
    if (!may_wait) return std::nullopt;
    if (!free_.empty()) break;
    released_.wait(lock);
  }
  StagingBuffer buffer = std::move(free_.front());
  free_.erase(free_.begin());
  lock.unlock();
  return fitting(std::move(buffer), bytes);
}

std::optional<StagingBuffer> StagingPool::acquire_for(const Stream& stream, std::size_t bytes) {
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(free_.rbegin(), free_.rend(), [&](const StagingBuffer& buffer) {
    return buffer.bytes == bytes &&
           (buffer.user.lock() == stream.shared() || device_.query(buffer.event));
  });
  std::optional<StagingBuffer> buffer;
  if (found != free_.rend()) {
    buffer = std::move(*found);
    free_.erase(std::next(found).base());
  } else {
    buffer = grow(bytes, lock);
  }
  if (buffer) buffer->user = stream.shared();
  return buffer;
}

/// One more buffer, made without the lock.
std::optional<StagingBuffer> StagingPool::grow(std::size_t bytes,
                                               std::unique_lock<std::mutex>& lock) {
  free_.reserve(count_ + 1);  // so that a release needs no memory
  abandoned_.reserve(abandoned_.size() + count_ + 1);
  ++count_;
  lock.unlock();
  auto buffer = make(bytes);
  lock.lock();
  if (buffer) return buffer;
  --count_;
  released_.notify_all();
  return std::nullopt;
}

std::optional<StagingBuffer> StagingPool::make(std::size_t bytes) {
  StagingBuffer buffer;
  buffer.bytes = bytes;
  try {
    buffer.memory = static_cast<std::byte*>(device_.allocate_host(bytes, {.portable = true}));
    if (!buffer.memory) return std::nullopt;
    buffer.event = device_.create_event(backend::EventKind::untimed);
    return buffer;
  } catch (const std::exception&) {
    if (buffer.memory) device_.free_host(buffer.memory);
    return std::nullopt;
  }
}

/// The buffer, once idle; replaced by a larger one if it is too small.
StagingBuffer StagingPool::fitting(StagingBuffer buffer, std::size_t bytes) {
  try {
    if (!buffer.is_idle) device_.wait(buffer.event);
    buffer.is_idle = true;
    if (buffer.bytes >= bytes) return buffer;
    void* const larger = device_.allocate_host(bytes, {.portable = true});
    if (!larger) throw MemoryError("no page-locked memory for a larger buffer");
    device_.free_host(std::exchange(buffer.memory, static_cast<std::byte*>(larger)));
    buffer.bytes = bytes;
    buffer.next = 0;
    return buffer;
  } catch (...) {
    release(std::move(buffer));
    throw;
  }
}

void StagingPool::release(StagingBuffer buffer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }
  released_.notify_one();
}

void StagingPool::abandon(StagingBuffer buffer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --count_;
    abandoned_.push_back(std::move(buffer));
  }
  released_.notify_all();
}

Stream StagingPool::stream(backend::Direction direction) {
  const std::lock_guard lock(mutex_);
  auto& found = direction == backend::Direction::host_to_device ? up_ : down_;
  if (!found) found = detail::created_stream(device_, backend::StreamOrder::behind_events);
  return *found;
}

/// With the lock, without which the buffer is destroyed. One by one, since a copy of the list would
/// take memory.
void StagingPool::destroy(std::vector<StagingBuffer>& buffers, Place at,
                          std::unique_lock<std::mutex>& lock) noexcept {
  std::optional<StagingBuffer> buffer(std::move(*at));
  buffers.erase(at);
  lock.unlock();
  try {
    device_.wait(buffer->event);
  } catch (const std::exception&) {  // a lost device: nothing of it is left
  }
  device_.destroy_event(buffer->event);
  device_.free_host(buffer->memory);
  buffer.reset();
  lock.lock();
}

/// Waiting for a queued download could mean waiting for the caller of trim().
bool StagingPool::may_be_freed(const StagingBuffer& buffer) noexcept {
  if (load_ != Load::queued_downloads) return true;
  try {
    return device_.query(buffer.event);
  } catch (const std::exception&) {  // a lost device
    return true;
  }
}

void StagingPool::trim() noexcept {
  std::optional<Stream> up, down;
  std::unique_lock lock(mutex_);
  up.swap(up_);
  down.swap(down_);
  const auto first = [this] {
    return std::find_if(free_.begin(), free_.end(),
                        [this](const StagingBuffer& buffer) { return may_be_freed(buffer); });
  };
  for (auto at = first(); at != free_.end(); at = first()) {
    --count_;
    destroy(free_, at, lock);
  }
  lock.unlock();
  released_.notify_all();
  free_abandoned();
}

/// If waiting for the device fails they are kept.
void StagingPool::free_abandoned() noexcept {
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
  for (std::size_t i = 0; i < count; ++i) destroy(abandoned_, abandoned_.begin(), lock);
}

std::size_t StagingPool::buffers() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void trim_staging(backend::Device& device) {
  for (const auto load : StagingPool::loads) StagingPool::of(device, load).trim();
}

}  // namespace quarry::memory
