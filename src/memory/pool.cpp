// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/pool.hpp>
#include <quarry/memory/upstream.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "memory/current_resource.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {

struct Pool::State {
  explicit State(Resource up, const PoolOptions& o) : upstream(std::move(up)), limit(o.limit) {}
  ~State() { give_back(); }
  void give_back() {
    for (auto& [size, block] : free) upstream.deallocate(stream(), block, size);
    free.clear();
    held = 0;
  }
  Stream stream() const { return default_stream(upstream.device()); }

  Resource upstream;
  std::mutex mutex;
  std::multimap<std::size_t, void*> free;
  std::size_t limit, active = 0, held = 0, peak = 0, allocations = 0;
};

Pool::Pool(Resource upstream, const PoolOptions& options)
    : state_(std::make_shared<State>(std::move(upstream), options)) {}

Pool Pool::of(const Device& device) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<backend::Device*, Pool*>;
  const std::lock_guard lock(mutex);
  detail::set_trim_hook([](backend::Device& d) {
    Pool pool = of(Device(d));
    pool.trim();
    return pool.statistics().active_bytes;
  });
  Pool*& pool = all[&device.backend()];
  if (!pool) pool = new Pool(device_resource(device));
  return *pool;
}

void* Pool::allocate(const Stream& stream, std::size_t bytes, std::size_t) {
  require<SizeOverflow>(bytes <= std::size_t{1} << 62,
                        [&] { return fmt::format("an allocation of {} bytes", bytes); });
  const std::size_t rounded = (bytes + 511) / 512 * 512;
  const std::lock_guard lock(state_->mutex);
  void* block = nullptr;
  if (const auto found = state_->free.find(rounded); found != state_->free.end()) {
    block = found->second;
    state_->free.erase(found);
    state_->held -= rounded;
  } else {
    block = state_->upstream.allocate(stream, rounded);
    ++state_->allocations;
  }
  state_->active += rounded;
  return block;
}
void Pool::deallocate(const Stream& stream, void* memory, std::size_t bytes,
                      std::size_t alignment) noexcept {
  deallocate(stream, {}, memory, bytes, alignment);
}
void Pool::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                      std::size_t bytes, std::size_t) noexcept {
  detail::join_streams(stream, others);
  detail::wait_for(stream.state());
  const std::lock_guard lock(state_->mutex);
  const std::size_t rounded = (bytes + 511) / 512 * 512;
  state_->free.emplace(rounded, memory);
  state_->held += rounded;
  state_->active -= rounded;
}
MemorySpace Pool::space() const { return state_->upstream.space(); }
Device Pool::device() const { return state_->upstream.device(); }
std::string Pool::name() const { return fmt::format("pool({})", state_->upstream.name()); }
const Resource& Pool::upstream() const { return state_->upstream; }
void Pool::trim() {
  const std::lock_guard lock(state_->mutex);
  state_->give_back();
}
PoolStatistics Pool::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->active, state_->held, 0, state_->peak, state_->allocations, state_->limit};
}
void Pool::set_limit(std::size_t bytes) { state_->limit = bytes; }
std::shared_ptr<void> Pool::on_pressure(PressureCallback) { return nullptr; }

PoolStatistics pool_statistics(const Device& device) { return Pool::of(device).statistics(); }
void trim_pool(const Device& device) { Pool::of(device).trim(); }

}  // namespace quarry
