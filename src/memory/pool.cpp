// SPDX-License-Identifier: BSD-3-Clause
#include "memory/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace quarry::memory {

namespace {

constexpr std::size_t smallest_class = 512;
constexpr int smallest_power = 9;

/// The bytes of a class: 2^power in eighths above the smallest.
std::size_t class_bytes(int index) {
  if (index == 0) return smallest_class;
  const int power = (index - 1) / 8 + smallest_power;
  const auto eighths = static_cast<std::size_t>((index - 1) % 8 + 9);
  return eighths << (power - 3);
}

}  // namespace

SizeClass size_class(std::size_t bytes) {
  require<SizeOverflow>(bytes <= std::size_t{1} << 62,
                        [&] { return fmt::format("an allocation of {} bytes", bytes); });
  if (bytes <= smallest_class) return {0, smallest_class};
  const int power =
      static_cast<int>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes <= 2^(power+1)
  const auto eighth = static_cast<int>(((bytes - 1) >> (power - 3)) & 7);
  const int index = (power - smallest_power) * 8 + eighth + 1;
  return {index, class_bytes(index)};
}

namespace {

/// Every pool lives as long as the process: arrays may be destroyed by static destructors.
struct Pools {
  std::mutex mutex;
  std::map<backend::Device*, Pool*> all;
  static Pools& instance() {
    static Pools* const pools = new Pools;
    return *pools;
  }
};

std::size_t trim_device(backend::Device& device) {
  Pool& pool = Pool::of(device);
  pool.trim();
  return pool.statistics().active_bytes;
}

}  // namespace

Pool& Pool::of(backend::Device& device) {
  thread_local std::pair<backend::Device*, Pool*> last{nullptr, nullptr};
  if (last.first == &device) return *last.second;
  Pools& pools = Pools::instance();
  const std::lock_guard lock(pools.mutex);
  if (pools.all.empty()) detail::set_trim_hook(trim_device);
  Pool*& pool = pools.all[&device];
  if (!pool) pool = new Pool(device);
  last = {&device, pool};
  return *pool;
}

StreamBlocks& Pool::blocks_of(const Stream& stream) {
  detail::StreamState& state = stream.state();
  if (void* const blocks = state.blocks.load(std::memory_order_acquire)) {
    return *static_cast<StreamBlocks*>(blocks);
  }
  const std::lock_guard lock(mutex_);
  if (void* const blocks = state.blocks.load(std::memory_order_acquire)) {
    return *static_cast<StreamBlocks*>(blocks);
  }
  auto made = std::make_unique<StreamBlocks>();
  streams_.push_back(&state);
  state.release = [](detail::StreamState& gone) noexcept { of(*gone.device).adopt_orphans(gone); };
  state.blocks.store(made.get(), std::memory_order_release);
  return *made.release();
}

void* Pool::take(StreamBlocks& blocks, int index) {
  const std::lock_guard lock(blocks.mutex);
  auto& list = blocks.free[index];
  if (list.empty()) return nullptr;
  void* const block = list.back();
  list.pop_back();
  return block;
}

void* Pool::from_orphans(int index, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  for (Orphans& orphan : orphans_) {
    if (orphan.blocks->free[index].empty()) continue;
    if (!device_.query(orphan.done)) device_.wait(stream.state().native, orphan.done);
    return take(*orphan.blocks, index);
  }
  return nullptr;
}

/// Asks the device, and once more after all that is cached has been given back to it.
void* Pool::from_device(std::size_t bytes) {
  void* block = device_.allocate(bytes);
  if (!block) {
    trim();
    block = device_.allocate(bytes);
  }
  if (block) allocations_.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void* Pool::allocate(std::size_t bytes, const Stream& stream) {
  const SizeClass size = size_class(bytes);
  void* block = take(blocks_of(stream), size.index);
  if (!block) block = from_orphans(size.index, stream);
  if (block) {
    held_.fetch_sub(size.bytes, std::memory_order_relaxed);
  } else {
    block = from_device(size.bytes);
    if (!block) throw_out_of_memory(bytes);
  }
  active_.fetch_add(size.bytes, std::memory_order_relaxed);
  return block;
}

void Pool::throw_out_of_memory(std::size_t bytes) {
  const auto now = statistics();
  const auto memory = device_.memory_info();
  throw MemoryError(
      fmt::format("no memory for {} bytes on {}: arrays hold {}, the pool caches {}, the device "
                  "has {} of {} free",
                  bytes, to_string(Device(device_)), now.active_bytes, now.held_bytes, memory.free,
                  memory.total));
}

void Pool::deallocate(void* block, std::size_t bytes, const Stream& home,
                      const std::vector<Stream>& others) noexcept {
  const SizeClass size = size_class(bytes);
  active_.fetch_sub(size.bytes, std::memory_order_relaxed);
  try {
    for (const Stream& other : others) {
      const backend::Event event = device_.create_event({.timing = false});
      device_.record(event, other.state().native);
      device_.wait(home.state().native, event);
      device_.destroy_event(event);
    }
    StreamBlocks& blocks = blocks_of(home);
    const std::lock_guard lock(blocks.mutex);
    blocks.free[size.index].push_back(block);
    held_.fetch_add(size.bytes, std::memory_order_relaxed);
  } catch (...) {
    // The order of the streams cannot be secured any more; the device's own free waits for all of
    // them.
    device_.free(block, size.bytes);
  }
}

void Pool::adopt_orphans(detail::StreamState& state) noexcept {
  std::unique_ptr<StreamBlocks> blocks(static_cast<StreamBlocks*>(state.blocks.exchange(nullptr)));
  try {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, &state);
    const backend::Event done = device_.create_event({.timing = false});
    device_.record(done, state.native);
    orphans_.push_back({std::move(blocks), done});
  } catch (...) {
    if (blocks) free_all(*blocks);
  }
}

void Pool::free_all(StreamBlocks& blocks) noexcept {
  const std::lock_guard lock(blocks.mutex);
  for (int i = 0; i < SizeClass::count; ++i) {
    auto& list = blocks.free[i];
    if (list.empty()) continue;
    const std::size_t bytes = class_bytes(i);
    for (void* const block : list) {
      device_.free(block, bytes);
      held_.fetch_sub(bytes, std::memory_order_relaxed);
    }
    list = {};
  }
}

void Pool::trim() {
  device_.synchronize();
  const std::lock_guard lock(mutex_);
  for (detail::StreamState* const state : streams_) {
    if (void* const blocks = state->blocks.load()) free_all(*static_cast<StreamBlocks*>(blocks));
  }
  for (Orphans& orphan : orphans_) {
    free_all(*orphan.blocks);
    device_.destroy_event(orphan.done);
  }
  orphans_.clear();
}

PoolStatistics Pool::statistics() const {
  return {active_.load(), held_.load(), allocations_.load()};
}

}  // namespace quarry::memory
