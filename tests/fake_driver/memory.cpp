// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "state.hpp"

namespace quarry::fake {
namespace {

constexpr std::size_t alignment = 512;
constexpr int poison = 0xFB;

std::size_t round_up(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// A range of addresses that nothing is mapped at: host code that follows a device pointer faults.
CUdeviceptr reserve_addresses() {
  for (std::size_t size = std::size_t{1} << 40; size >= std::size_t{1} << 32; size /= 4) {
    void* const at =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) return reinterpret_cast<CUdeviceptr>(at);
  }
  return CUdeviceptr{1} << 60;
}

/// Large blocks are poisoned at both ends only, so that they cost no memory until they are used.
void fill_with_poison(std::byte* memory, std::size_t bytes) {
  constexpr std::size_t whole = std::size_t{64} << 20, part = std::size_t{1} << 20;
  if (bytes <= whole) {
    std::memset(memory, poison, bytes);
  } else {
    std::memset(memory, poison, part);
    std::memset(memory + bytes - part, poison, part);
  }
}

std::byte* new_memory(std::size_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(alignment, round_up(bytes)));
  if (memory) fill_with_poison(memory, bytes);
  return memory;
}

}  // namespace

void Memory::Free::operator()(std::byte* memory) const { std::free(memory); }

void Memory::set_devices(const std::vector<std::size_t>& capacities) {
  const std::lock_guard lock(mutex_);
  blocks_.clear();
  used_.clear();
  host_used_ = {};
  for (const std::size_t bytes : capacities) used_.push_back({0, 0, bytes});
  if (!first_) first_ = next_ = (reserve_addresses() + alignment - 1) / alignment * alignment;
}

void Memory::set_capacity(int device, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  used_.at(static_cast<std::size_t>(device)).capacity = bytes;
}

CUresult Memory::allocate(int device, std::size_t bytes, CUdeviceptr* out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  Usage& used = used_.at(static_cast<std::size_t>(device));
  if (bytes > used.capacity ||
      round_up(bytes) > used.capacity - std::min(used.bytes, used.capacity)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::byte* const memory = new_memory(bytes);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  blocks_.emplace(next_, Block{bytes, device, std::unique_ptr<std::byte, Free>(memory)});
  *out = next_;
  next_ += round_up(bytes) + alignment;  // addresses are never used twice
  ++used.blocks;
  used.bytes += round_up(bytes);
  return CUDA_SUCCESS;
}

int Memory::owner(CUdeviceptr address) const {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? -1 : found->second.device;
}

CUresult Memory::free(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.device < 0) {
    const bool is_known = address >= first_ && address < next_;
    add_fault(is_known ? "cuMemFree of a block that is not live or not its start"
                       : "cuMemFree of an address that the driver never gave out");
    return CUDA_ERROR_INVALID_VALUE;
  }
  Usage& used = used_.at(static_cast<std::size_t>(found->second.device));
  --used.blocks;
  used.bytes -= round_up(found->second.bytes);
  blocks_.erase(found);
  return CUDA_SUCCESS;
}

CUresult Memory::allocate_host(std::size_t bytes, void** out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  std::byte* const memory = new_memory(bytes);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<CUdeviceptr>(memory),
                  Block{bytes, -1, std::unique_ptr<std::byte, Free>(memory)});
  ++host_used_.blocks;
  host_used_.bytes += bytes;
  *out = memory;
  return CUDA_SUCCESS;
}

CUresult Memory::free_host(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<CUdeviceptr>(memory));
  if (found == blocks_.end() || found->second.device >= 0) {
    add_fault("cuMemFreeHost of memory that is not page-locked or was freed");
    return CUDA_ERROR_INVALID_VALUE;
  }
  --host_used_.blocks;
  host_used_.bytes -= found->second.bytes;
  blocks_.erase(found);
  return CUDA_SUCCESS;
}

void Memory::forget(int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [&](const auto& entry) { return entry.second.device == device; });
  Usage& used = used_.at(static_cast<std::size_t>(device));
  used.blocks = used.bytes = 0;
}

const Memory::Block* Memory::containing(CUdeviceptr address, std::size_t bytes,
                                        CUdeviceptr* start) const {
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return nullptr;
  --found;
  const CUdeviceptr offset = address - found->first;
  if (offset > found->second.bytes || bytes > found->second.bytes - offset) return nullptr;
  *start = found->first;
  return &found->second;
}

std::byte* Memory::find(CUdeviceptr address, std::size_t bytes, int device) const {
  const std::lock_guard lock(mutex_);
  CUdeviceptr start = 0;
  const Block* const block = containing(address, bytes, &start);
  if (!block || (device >= 0 && block->device >= 0 && block->device != device)) return nullptr;
  return block->memory.get() + (address - start);
}

bool Memory::is_device(CUdeviceptr address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  CUdeviceptr start = 0;
  const Block* const block = containing(address, bytes, &start);
  return block && block->device >= 0;
}

bool Memory::is_pinned(const void* memory, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  CUdeviceptr start = 0;
  const Block* const block = containing(reinterpret_cast<CUdeviceptr>(memory), bytes, &start);
  return block && block->device < 0;
}

Memory::Usage Memory::usage(int device) const {
  const std::lock_guard lock(mutex_);
  return used_.at(static_cast<std::size_t>(device));
}

Memory::Usage Memory::host_usage() const {
  const std::lock_guard lock(mutex_);
  return host_used_;
}

int Memory::devices() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(used_.size());
}

}  // namespace quarry::fake
