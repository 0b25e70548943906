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

/// Two copies of long runs may run at the same time; a third one waits.
std::size_t StagingPool::most_buffers(const TransferThresholds& t) const {
  return load_ == Load::short_runs ? t.buffers : std::min(t.buffers, 2 * t.pipeline_buffers);
}
std::size_t StagingPool::buffer_bytes(const TransferThresholds& t) const {
  return load_ == Load::short_runs ? std::min(t.strided_bytes, t.chunk_bytes) : t.chunk_bytes;
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
    if (!free_.empty() && device_.query(free_.front().event)) break;
    if (count_ < most_buffers(t)) {
      free_.reserve(count_ + 1);  // so that a release needs no memory
      abandoned_.reserve(abandoned_.size() + count_ + 1);
      ++count_;
      lock.unlock();
      if (auto buffer = grow(std::max(bytes, buffer_bytes(t)))) return buffer;
      lock.lock();
      --count_;
      released_.notify_all();
      if (count_ == 0) return std::nullopt;
    }
    if (!may_wait) return std::nullopt;
    if (!free_.empty()) break;
    released_.wait(lock);
  }
  const StagingBuffer buffer = free_.front();
  free_.erase(free_.begin());
  lock.unlock();
  return fitting(buffer, bytes);
}

std::optional<StagingBuffer> StagingPool::grow(std::size_t bytes) {
  StagingBuffer buffer{nullptr, bytes, nullptr};
  try {
    buffer.memory =
        static_cast<std::byte*>(device_.allocate_host(buffer.bytes, {.portable = true}));
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
    device_.wait(buffer.event);
    if (buffer.bytes >= bytes) return buffer;
    void* const larger = device_.allocate_host(bytes, {.portable = true});
    if (!larger) throw MemoryError("no page-locked memory for a larger buffer");
    device_.free_host(std::exchange(buffer.memory, static_cast<std::byte*>(larger)));
    buffer.bytes = bytes;
    return buffer;
  } catch (...) {
    release(buffer);
    throw;
  }
}

void StagingPool::release(const StagingBuffer& buffer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(buffer);
  }
  released_.notify_one();
}

void StagingPool::abandon(const StagingBuffer& buffer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --count_;
    abandoned_.push_back(buffer);
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
void StagingPool::destroy_first(std::vector<StagingBuffer>& buffers,
                                std::unique_lock<std::mutex>& lock) noexcept {
  const StagingBuffer buffer = buffers.front();
  buffers.erase(buffers.begin());
  lock.unlock();
  try {
    device_.wait(buffer.event);
  } catch (const std::exception&) {  // a lost device: nothing of it is left
  }
  device_.destroy_event(buffer.event);
  device_.free_host(buffer.memory);
  lock.lock();
}

void StagingPool::trim() noexcept {
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
  for (std::size_t i = 0; i < count; ++i) destroy_first(abandoned_, lock);
}

std::size_t StagingPool::buffers() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void trim_staging(backend::Device& device) {
  for (const auto load : {StagingPool::Load::long_runs, StagingPool::Load::short_runs}) {
    StagingPool::of(device, load).trim();
  }
}

}  // namespace quarry::memory
