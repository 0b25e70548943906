// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/pool.hpp>

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <map>
#include <new>
#include <tuple>

#include "backend/backend.hpp"
#include "memory/host/host_registry.hpp"
#include "memory/resource/event_deferred_free.hpp"
#include "memory/resource/stream_order.hpp"

namespace quarry::detail {
namespace {

using memory::HostRegistry;

/// Memory that is kept for the next request, or one call of the driver for each.
enum class Source { pool, driver };

/// One resource for each kind of host memory of each device; they live as long as the process, as
/// arrays may be destroyed by static destructors.
struct HostPools {
  using Key = std::tuple<backend::Device*, MemorySpace, bool, bool, Source>;
  std::mutex mutex;
  std::map<Key, Resource> all;
  static HostPools& instance() {
    static HostPools* const pools = new HostPools;
    return *pools;
  }
};

Resource make_host_pool(const Device& device, MemorySpace space, const HostMemoryOptions& options,
                        Source source) {
  const bool is_mapped = space == MemorySpace::mapped;
  Resource memory = is_mapped ? mapped_resource(device, options) : pinned_resource(device, options);
  if (source == Source::pool) memory = Resource(Pool(std::move(memory)));
  // page-locked memory that kernels cannot access belongs to the host
  return memory::EventDeferredFree::make(std::move(memory), is_mapped ? device : Device::cpu());
}

Resource host_pool(const Device& device, MemorySpace space, const HostMemoryOptions& options,
                   Source source = Source::pool) {
  const HostPools::Key key{&device.backend(), space, options.portable, options.write_combined,
                           source};
  HostPools& pools = HostPools::instance();
  const std::lock_guard lock(pools.mutex);
  const auto found = pools.all.find(key);
  if (found != pools.all.end()) return found->second;
  return pools.all.emplace(key, make_host_pool(device, space, options, source)).first->second;
}

const Stream& host_stream() {
  static const Stream& stream = *new Stream(default_stream(Device::cpu()));
  return stream;
}

}  // namespace

std::shared_ptr<Buffer> find_host_buffer(const void* data, std::size_t bytes) {
  return HostRegistry::instance().find(data, bytes);
}

void release_pinned(void* memory) noexcept {
  if (memory) HostRegistry::instance().remove_block(memory);
}

namespace {

/// The same memory at the address for kernels, if that differs. It keeps the block until all that
/// use it by that address are done.
std::shared_ptr<Buffer> seen_by_kernels(std::shared_ptr<Buffer> block) {
  void* const seen = block->device().backend().device_pointer(block->data());
  if (seen == block->data()) return block;
  const std::size_t bytes = block->bytes();
  const Stream home = block->stream();
  const MemorySpace space = block->space();
  return std::make_shared<Buffer>(seen, bytes, home, std::move(block), space);
}

HostVisibleMemory mapped_block(std::size_t bytes, const Stream& home,
                               const HostMemoryOptions& options, Source source) {
  const Resource pool = host_pool(home.device(), MemorySpace::mapped, options, source);
  auto buffer = Buffer::allocate(bytes, home, pool);
  std::byte* const data = buffer->data();
  // with unified addressing only this kind of page-locked memory has another address for kernels
  if (options.write_combined && bytes > 0) buffer = seen_by_kernels(std::move(buffer));
  return {std::move(buffer), data};
}

/// Mapped memory is the device's, other memory the host's.
HostVisibleMemory pagelocked_block(std::size_t bytes, const Device& device,
                                   const HostMemoryOptions& options, Source source) {
  if (options.mapped) return mapped_block(bytes, default_stream(device), options, source);
  const Resource pool = host_pool(device, MemorySpace::pinned, options, source);
  auto buffer = Buffer::allocate(bytes, host_stream(), pool);
  std::byte* const data = buffer->data();
  return {std::move(buffer), data};
}

}  // namespace

void* allocate_pinned(std::size_t bytes, const HostMemoryOptions& options,
                      const std::optional<Device>& device) {
  if (bytes == 0) return nullptr;
  const auto [buffer, data] =
      pagelocked_block(bytes, device.value_or(Device()), options, Source::pool);
  HostRegistry::instance().add_block(data, buffer, true);
  return data;
}

HostVisibleMemory mapped_memory(std::size_t bytes, const Stream& home,
                                const HostMemoryOptions& options) {
  auto [buffer, data] = mapped_block(bytes, home, options, Source::pool);
  return {memory::listed(data, std::move(buffer)), data};
}

HostVisibleMemory pagelocked_memory(std::size_t bytes, const Device& device,
                                    const HostMemoryOptions& options) {
  auto [buffer, data] = pagelocked_block(bytes, device, options, Source::driver);
  return {memory::listed(data, std::move(buffer)), data};
}

HostVisibleMemory managed_memory(std::size_t bytes, const Stream& home, bool attach_global) {
  // not from a pool: streams are attached to whole allocations, and advice is given for pages
  auto buffer = Buffer::allocate(bytes, home, managed_resource(home.device(), attach_global));
  std::byte* const data = buffer->data();
  return {memory::listed(data, std::move(buffer)), data};
}

void trim_host_memory(const Device& device) {
  std::vector<Resource> mine;
  {
    HostPools& pools = HostPools::instance();
    const std::lock_guard lock(pools.mutex);
    for (const auto& [key, pool] : pools.all) {
      if (std::get<0>(key) == &device.backend()) mine.push_back(pool);
    }
  }
  for (const Resource& pool : mine) pool.trim();
}

void require_alignment(std::size_t alignment) {
  require<LogicError>(std::has_single_bit(alignment), [&] {
    return fmt::format("an alignment of {}, which is no power of two", alignment);
  });
}

std::size_t allocation_bytes(std::size_t count, std::size_t itemsize) {
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  require<SizeOverflow>(count <= most / itemsize, [&] {
    return fmt::format("an allocation of {} elements of {} bytes", count, itemsize);
  });
  return count * itemsize;
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment) {
  if (bytes == 0) return nullptr;
  void* const memory = ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
  require<MemoryError>(memory != nullptr, [&] {
    return fmt::format("no host memory for {} bytes aligned to {}", bytes, alignment);
  });
  return memory;
}

void release_aligned(void* memory, std::size_t alignment) noexcept {
  ::operator delete(memory, std::align_val_t(alignment));
}

}  // namespace quarry::detail
