// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/memory_pool.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/forked.hpp"
#include "memory/host/host_registry.hpp"
#include "memory/resource/event_deferred_free.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/report.hpp"

namespace quarry {

namespace {
constexpr int mantissa_bits = 4;
constexpr int bins = 64 << mantissa_bits;
}  // namespace

int MemoryPool::bin_number(std::size_t bytes) {
  if (bytes < 2) return 0;
  const int exponent = static_cast<int>(std::bit_width(bytes)) - 1;
  const int shift = exponent - mantissa_bits;
  const std::size_t leading = shift < 0 ? bytes << -shift : bytes >> shift;
  return exponent << mantissa_bits | static_cast<int>(leading & ((1u << mantissa_bits) - 1));
}

std::size_t MemoryPool::alloc_size(int bin) {
  require<LogicError>(bin >= 0 && bin < bins,
                      [&] { return fmt::format("alloc_size: there is no bin {}", bin); });
  const int shift = (bin >> mantissa_bits) - mantissa_bits;
  const auto mantissa = static_cast<std::size_t>(bin) & ((1u << mantissa_bits) - 1);
  const std::size_t leading = std::size_t{1} << mantissa_bits | mantissa;
  if (shift < 0) return leading >> -shift;
  return leading << shift | ((std::size_t{1} << shift) - 1);
}

/// Upstream calls are made without the lock.
struct MemoryPool::State final : memory::Cache {
  struct Block {
    void* memory;
    Stream stream;  ///< whose work on the block is the last
  };
  /// A block that this pool has from the upstream, held or active, by its address.
  struct Known {
    int bin;
    std::size_t bytes;  ///< that were asked for
    bool is_active;
  };
  struct Bin {
    std::size_t blocks = 0;   ///< held and active; `held` has room for all
    std::vector<Block> held;  ///< the latest is the last
  };

  State(Resource resource, std::string called)
      : upstream(std::move(resource)), name(std::move(called)) {}
  ~State() override {
    if (!is_forked()) free_held();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void* take(int bin, std::size_t bytes, const Stream& stream);
  void* allocate(int bin, std::size_t bytes, const Stream& stream);
  void* from_upstream(int bin, std::size_t bytes, const Stream& stream);
  [[noreturn]] void refuse(std::size_t bytes);
  void expect_block(int bin, std::size_t bytes);
  void forget_block(int bin, std::size_t bytes) noexcept;
  void add_known(void* memory, int bin, std::size_t bytes, const Stream& stream);
  Known& require_active(void* memory, std::size_t bytes);
  void put(int bin, std::size_t bytes, const Block& block) noexcept;
  bool free_largest() noexcept;
  backend::Device& owner() const noexcept override { return upstream.device().backend(); }
  void give_back() override { free_held(); }
  void free_held() noexcept {
    while (free_largest()) {
    }
  }

  const Resource upstream;
  const std::string name;
  mutable std::mutex mutex;
  std::map<int, Bin> by_bin;
  std::unordered_map<void*, Known> known;
  std::size_t held = 0, active = 0, managed_bytes = 0, active_bytes = 0, peak = 0, fresh = 0;
  bool holding = true;
};

/// A block that is held, or nullptr.
void* MemoryPool::State::take(int bin, std::size_t bytes, const Stream& stream) {
  std::unique_lock lock(mutex);
  const auto at = by_bin.find(bin);
  if (at == by_bin.end() || at->second.held.empty()) return nullptr;
  auto& blocks = at->second.held;
  const auto own = std::find_if(blocks.rbegin(), blocks.rend(),
                                [&](const Block& b) { return b.stream == stream; });
  if (own != blocks.rend()) std::swap(*own, blocks.back());
  const Block block = std::move(blocks.back());
  blocks.pop_back();
  known.find(block.memory)->second = {bin, bytes, true};
  --held;
  ++active;
  active_bytes += bytes;
  lock.unlock();
  if (!(block.stream == stream)) detail::join_streams(stream, {&block.stream, 1});
  return block.memory;
}

/// Counts a block that the upstream is about to make, so that putting it back cannot fail.
void MemoryPool::State::expect_block(int bin, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  Bin& b = by_bin[bin];
  if (b.held.capacity() <= b.blocks) b.held.reserve(std::max<std::size_t>(4, 2 * b.blocks));
  ++b.blocks;
  ++active;
  active_bytes += bytes;
  managed_bytes += alloc_size(bin);
}

/// A block with `bytes` active bytes was freed, or not made.
void MemoryPool::State::forget_block(int bin, std::size_t bytes) noexcept {
  --by_bin.find(bin)->second.blocks;
  --active;
  active_bytes -= bytes;
  managed_bytes -= alloc_size(bin);
}

/// Throws LogicError, without freeing it, for memory that the upstream had already allocated.
void MemoryPool::State::add_known(void* memory, int bin, std::size_t bytes, const Stream& stream) {
  bool is_new = false;
  try {
    const std::lock_guard lock(mutex);
    is_new = known.try_emplace(memory, Known{bin, bytes, true}).second;
  } catch (...) {
    upstream.deallocate(stream, memory, alloc_size(bin));
    throw;
  }
  require<LogicError>(is_new, [&] {
    return fmt::format("the resource {} returned {}, which it has handed out already",
                       upstream.name(), memory);
  });
}

/// With the lock. A mistake of the caller cannot be an exception, because frees come from
/// destructors: this ends the program with the text, before anything is damaged.
MemoryPool::State::Known& MemoryPool::State::require_active(void* memory, std::size_t bytes) {
  const auto at = known.find(memory);
  require<LogicError>(at != known.end(), [&] {
    return fmt::format("{}: {} was freed, which is not the start of a block", name, memory);
  });
  require<LogicError>(at->second.is_active,
                      [&] { return fmt::format("{}: {} was freed twice", name, memory); });
  require<LogicError>(at->second.bytes == bytes, [&] {
    return fmt::format("{}: {} was freed as a block of {} bytes and has {}", name, memory, bytes,
                       at->second.bytes);
  });
  return at->second;
}

void* MemoryPool::State::from_upstream(int bin, std::size_t bytes, const Stream& stream) {
  expect_block(bin, bytes);
  try {
    void* const memory = upstream.allocate(stream, alloc_size(bin));
    add_known(memory, bin, bytes, stream);
    const std::lock_guard lock(mutex);
    ++fresh;
    peak = std::max(peak, managed_bytes);
    return memory;
  } catch (...) {
    const std::lock_guard lock(mutex);
    forget_block(bin, bytes);
    throw;
  }
}

/// The largest blocks that are held go first, one by one, before anybody else is asked.
void* MemoryPool::State::allocate(int bin, std::size_t bytes, const Stream& stream) {
  if (void* const held_block = take(bin, bytes, stream)) return held_block;
  void* const memory = memory::with_relief(owner(), bytes, [&]() -> void* {
    do {
      if (void* const held_block = take(bin, bytes, stream)) return held_block;
      try {
        return from_upstream(bin, bytes, stream);
      } catch (const MemoryError&) {
      }
    } while (free_largest());
    return nullptr;
  });
  if (!memory) refuse(bytes);
  return memory;
}

void MemoryPool::State::refuse(std::size_t bytes) {
  MemoryReport report{.requested = bytes};
  {
    const std::lock_guard lock(mutex);
    report.live = active_bytes;
  }
  throw MemoryError(fmt::format("{} over {}", name, upstream.name()),
                    memory::with_device(report, owner()));
}

void MemoryPool::State::put(int bin, std::size_t bytes, const Block& block) noexcept {
  std::unique_lock lock(mutex);
  Known& freed = require_active(block.memory, bytes);
  if (holding) {
    freed.is_active = false;
    by_bin.find(bin)->second.held.push_back(block);
    ++held;
    --active;
    active_bytes -= bytes;
    return;
  }
  known.erase(block.memory);
  forget_block(bin, bytes);
  lock.unlock();
  upstream.deallocate(block.stream, block.memory, alloc_size(bin));
}

/// Gives the latest block of the largest class back. Returns whether there was one.
bool MemoryPool::State::free_largest() noexcept {
  std::unique_lock lock(mutex);
  const auto at = std::find_if(by_bin.rbegin(), by_bin.rend(),
                               [](const auto& entry) { return !entry.second.held.empty(); });
  if (at == by_bin.rend()) return false;
  auto& [bin, found] = *at;
  const Block block = std::move(found.held.back());
  const std::size_t bytes = alloc_size(bin);
  found.held.pop_back();
  known.erase(block.memory);
  --found.blocks;
  --held;
  managed_bytes -= bytes;
  lock.unlock();
  upstream.deallocate(block.stream, block.memory, bytes);
  return true;
}

MemoryPool::MemoryPool(Resource upstream, std::string name)
    : state_(std::make_shared<State>(std::move(upstream), std::move(name))) {
  memory::add_cache(state_);
}

void* MemoryPool::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) {
  require<LogicError>(alignment <= Resource::default_alignment, [&] {
    return fmt::format("{}: an alignment of {} bytes; blocks are aligned to {}", name(), alignment,
                       Resource::default_alignment);
  });
  require<SizeOverflow>(bytes <= std::size_t{1} << 62,
                        [&] { return fmt::format("an allocation of {} bytes", bytes); });
  return state_->allocate(bin_number(bytes), bytes, stream);
}

void MemoryPool::deallocate(const Stream& stream, void* memory, std::size_t bytes,
                            std::size_t) noexcept {
  if (!is_forked()) state_->put(bin_number(bytes), bytes, {memory, stream});
}

std::size_t MemoryPool::held_blocks() const {
  const std::lock_guard lock(state_->mutex);
  return state_->held;
}
std::size_t MemoryPool::active_blocks() const {
  const std::lock_guard lock(state_->mutex);
  return state_->active;
}
std::size_t MemoryPool::managed_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->managed_bytes;
}
std::size_t MemoryPool::active_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->active_bytes;
}
std::size_t MemoryPool::peak_managed_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak;
}
std::size_t MemoryPool::upstream_allocations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->fresh;
}

void MemoryPool::free_held() { state_->free_held(); }
void MemoryPool::stop_holding() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->holding = false;
  }
  state_->free_held();
}

MemorySpace MemoryPool::space() const { return state_->upstream.space(); }
Device MemoryPool::device() const { return state_->upstream.device(); }
std::string MemoryPool::name() const {
  return fmt::format("{} over {}", state_->name, state_->upstream.name());
}

std::shared_ptr<Buffer> MemoryPool::allocate_block(std::size_t bytes, const Stream& stream,
                                                   const Resource& resource) {
  if (bytes > 0) return Buffer::allocate(bytes, stream, resource);
  auto release = [resource, stream](void* memory) { resource.deallocate(stream, memory, 0); };
  std::shared_ptr<void> block(resource.allocate(stream, 0), release);
  void* const memory = block.get();
  return Buffer::adopt(memory, 0, stream, std::move(block), resource.space());
}

const std::shared_ptr<Buffer>& PooledAllocation::buffer() const {
  require<LogicError>(buffer_ != nullptr, "the pooled allocation has been freed or moved from");
  return buffer_;
}
void PooledAllocation::free() {
  buffer();
  buffer_.reset();
}

std::byte* PooledHostAllocation::device_pointer() const {
  require<LogicError>(
      is_device_accessible(buffer()->space()) && buffer()->space() != MemorySpace::pinned,
      "device_pointer: page-locked memory that is not mapped");
  return buffer()->data();
}

DeviceMemoryPool::DeviceMemoryPool(Resource upstream)
    : MemoryPool(std::move(upstream), "DeviceMemoryPool") {
  require<LogicError>(is_device_accessible(space()), [&] {
    return fmt::format("DeviceMemoryPool: kernels cannot use the memory of {}", name());
  });
}
PooledDeviceAllocation DeviceMemoryPool::allocate(std::size_t bytes, const Stream& stream) {
  return PooledDeviceAllocation(allocate_block(bytes, stream, Resource(*this)), bytes);
}
PooledDeviceAllocation DeviceMemoryPool::allocate(std::size_t bytes) {
  return allocate(bytes, default_stream(device()));
}

Resource PageLockedAllocator::resource() const {
  const HostMemoryOptions options{.portable = portable, .write_combined = write_combined};
  const Device on = device.value_or(Device());
  return mapped ? mapped_resource(on, options) : pinned_resource(on, options);
}

namespace {

/// Memory that kernels cannot access belongs to the host.
Device device_of_memory(const MemoryPool& pool) {
  return pool.space() == MemorySpace::mapped ? pool.device() : Device::cpu();
}

}  // namespace

PageLockedMemoryPool::PageLockedMemoryPool(const PageLockedAllocator& allocator)
    : MemoryPool(allocator.resource(), "PageLockedMemoryPool"),
      host_(memory::EventDeferredFree::make(Resource(static_cast<const MemoryPool&>(*this)),
                                            device_of_memory(*this))),
      home_(default_stream(device_of_memory(*this))) {}

PooledHostAllocation PageLockedMemoryPool::allocate(std::size_t bytes) {
  auto buffer = allocate_block(bytes, home_, host_);
  const void* const data = buffer->host_data();
  return PooledHostAllocation(memory::listed(data, std::move(buffer)), bytes);
}

void* PageLockedMemoryPool::allocate_kept(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto buffer = allocate_block(bytes, home_, host_);
  memory::HostRegistry::instance().add_block(buffer->host_data(), buffer, true);
  return buffer->host_data();
}

void PageLockedMemoryPool::stop_holding() {
  MemoryPool::stop_holding();
  host_.trim();
}

}  // namespace quarry
