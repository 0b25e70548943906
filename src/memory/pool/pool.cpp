// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "base/forked.hpp"
#include "memory/adaptors/poison.hpp"
#include "memory/pool/pool_state.hpp"
#include "memory/resource/caches.hpp"
#include "runtime/callback.hpp"

namespace quarry {

// --- the state -----------------------------------------------------------------------------------

Pool::State::State(Resource from, const PoolOptions& options)
    : upstream(std::move(from)),
      device(upstream.device().backend()),
      home(default_stream(Device(device))),
      is_visible(is_host_accessible(upstream.space()) || device.info().is_cpu),
      marks(device),
      limit_(options.limit) {}

Pool::State::Heap& Pool::State::heap_of(detail::StreamState& stream) {
  if (void* const arena = stream.find(this)) [[likely]]
    return *static_cast<Heap*>(arena);
  return open_heap(stream);
}

Pool::State::Heap& Pool::State::open_heap(detail::StreamState& stream) {
  require<LogicError>(stream.device == &device, [&] {
    return fmt::format("{} cannot serve a stream of {}", where(),
                       to_string(Device(*stream.device)));
  });
  const std::lock_guard attachments(detail::StreamState::attachments_mutex());
  if (void* const arena = stream.find(this)) return *static_cast<Heap*>(arena);
  const std::lock_guard lock(mutex_);
  auto at =
      std::find_if(arenas_.begin(), arenas_.end(), [](auto& arena) { return !arena->is_open; });
  if (at == arenas_.end()) {
    arenas_.push_back(std::make_unique<Heap>(*this));
    at = arenas_.end() - 1;
  }
  Heap& arena = **at;
  arena.done.reserve(1);  // before anything has changed
  stream.attach(this, &arena, &State::stream_ends);
  arena.is_open = true;
  arena.stream = &stream;
  return arena;
}

/// Its memory stays with the arena until the stream's last work is done.
void Pool::State::stream_ends(void* data, detail::StreamState& stream) noexcept {
  Heap& arena = *static_cast<Heap*>(data);
  const std::lock_guard lock(arena.pool.mutex_);
  const std::lock_guard heap_lock(arena.mutex);
  arena.stream = nullptr;
  if (arena.segments == 0) {
    arena.is_open = false;
    return;
  }
  if (memory::is_idle(stream)) return;
  const bool is_of_a_thread = stream.kind == detail::StreamKind::per_thread;  // which may be gone
  arena.done.push_back(arena.marks.try_record(
      stream, is_of_a_thread ? stream.device->legacy_stream() : stream.native));
}

void* Pool::State::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) {
  const Request request = memory::request_of(bytes, alignment);
  if (bytes == 0) return nullptr;
  detail::StreamState& state = stream.state();
  if (!state.is_of_this_thread()) {  // work of this thread would go into its own per-thread stream
    return allocate(detail::per_thread_stream(*state.device), bytes, alignment);
  }
  Heap& arena = heap_of(state);
  memory::Block* block;
  {
    const std::lock_guard lock(arena.mutex);
    block = arena.take(request);
  }
  if (!block) [[unlikely]]
    block = find(arena, stream, request);
  block->surplus = request.surplus;
  if constexpr (memory::can_poison) {
    if (is_visible) {
      memory::unpoison(block->address, bytes);
      if (memory::is_idle(state)) {
        memory::poison(block->address + bytes, request.bytes - bytes);
      }
    }
  }
  return block->address;
}

PoolStatistics Pool::State::statistics() {
  PoolStatistics result;
  const std::lock_guard lock(mutex_);
  for (const auto& arena : arenas_) {
    const std::lock_guard heap_lock(arena->mutex);
    arena->publish();
    result.active_bytes += arena->active;
    result.largest_free_bytes = std::max(result.largest_free_bytes, arena->largest_free());
  }
  const std::size_t reserved = reserved_.load();
  result.held_bytes = reserved - std::min(reserved, result.active_bytes);
  result.peak_active_bytes = active.peak.load();
  result.allocations = allocations_.load();
  result.limit = limit_.load();
  return result;
}

void Pool::State::set_limit(std::size_t bytes) {
  const std::size_t active_bytes = statistics().active_bytes;
  require<LogicError>(active_bytes <= bytes, [&] {
    return fmt::format("{}: a limit of {} bytes, but {} are handed out", where(), bytes,
                       active_bytes);
  });
  limit_.store(bytes);
  if (reserved_.load() > bytes) trim();
}

std::shared_ptr<void> Pool::State::on_pressure(const std::shared_ptr<State>& pool,
                                               PressureCallback f) {
  require<LogicError>(static_cast<bool>(f), "on_pressure: an empty function");
  auto callback = std::make_shared<PressureCallback>(std::move(f));
  // before the lock is taken: on failure its deleter takes the lock
  std::shared_ptr<void> handle(callback.get(), [pool, callback](void*) {
    const std::lock_guard lock(pool->callbacks_mutex_);
    std::erase(pool->callbacks_, callback);
  });
  const std::lock_guard lock(pool->callbacks_mutex_);
  pool->callbacks_.push_back(std::move(callback));
  return handle;
}

std::string Pool::State::where() const {
  return fmt::format("pool({}) on {}", upstream.name(), to_string(Device(device)));
}

// --- the handle ----------------------------------------------------------------------------------

Pool::Pool(Resource upstream, const PoolOptions& options)
    : state_(new State(std::move(upstream), options), detail::DeleteOutsideCallbacks()) {
  memory::add_cache(state_);
}

Pool Pool::of(const Device& device) {
  require_not_forked();
  // they live as long as the process: arrays may be destroyed by static destructors
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::map<backend::Device*, std::unique_ptr<State>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<State>& state = pools[&device.backend()];
  if (!state) {
    auto made = std::make_unique<State>(device_resource(device), PoolOptions{});
    memory::add_cache(*made);
    state = std::move(made);
  }
  return Pool(std::shared_ptr<State>(std::shared_ptr<void>(), state.get()));  // counts nothing
}

void* Pool::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) {
  return state_->allocate(stream, bytes, alignment);
}
void Pool::deallocate(const Stream& stream, void* memory, std::size_t bytes,
                      std::size_t alignment) noexcept {
  state_->deallocate(stream, {}, memory, bytes, alignment);
}
void Pool::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                      std::size_t bytes, std::size_t alignment) noexcept {
  state_->deallocate(stream, others, memory, bytes, alignment);
}
bool Pool::shrink(const Stream& stream, void* memory, std::size_t bytes, std::size_t to,
                  std::size_t alignment) {
  return state_->shrink(stream, memory, bytes, to, alignment);
}
MemorySpace Pool::space() const { return state_->upstream.space(); }
Device Pool::device() const { return Device(state_->device); }
std::string Pool::name() const { return fmt::format("pool({})", state_->upstream.name()); }
const Resource& Pool::upstream() const { return state_->upstream; }
void Pool::trim() { state_->trim(); }
PoolStatistics Pool::statistics() const { return state_->statistics(); }
void Pool::set_limit(std::size_t bytes) { state_->set_limit(bytes); }
std::shared_ptr<void> Pool::on_pressure(PressureCallback f) {
  return State::on_pressure(state_, std::move(f));
}

PoolStatistics pool_statistics(const Device& device) { return Pool::of(device).statistics(); }
void trim_pool(const Device& device) { memory::give_back_all(device.backend()); }

}  // namespace quarry
