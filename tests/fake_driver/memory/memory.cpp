// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/memory/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

constexpr int poison = 0xFB;

std::byte* new_host_memory(std::size_t bytes) {
  constexpr std::size_t page = 4096;  // page-locked blocks share no page with the program's memory
  const std::size_t rounded = (bytes + page - 1) / page * page;
  if (rounded < bytes) return nullptr;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page, rounded));
  if (memory) std::memset(memory, poison, std::min(bytes, std::size_t{2} << 20));
  return memory;
}

}  // namespace

void Memory::set_devices(const std::vector<std::size_t>& capacities) {
  const std::lock_guard lock(mutex_);
  arena_.open();
  while (!blocks_.empty()) release(blocks_.begin());
  used_.clear();
  peers_.clear();
  for (const std::size_t bytes : capacities) used_.push_back({0, 0, bytes});
}

void Memory::part_from_parent() { arena_.part_from_parent(); }

void Memory::set_capacity(int device, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  used_.at(static_cast<std::size_t>(device)).capacity = bytes;
}

std::size_t Memory::set_host_capacity(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return std::exchange(host_capacity_, bytes);
}

void Memory::forget(int device) {
  const std::lock_guard lock(mutex_);
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    const auto block = at++;
    if (block->second.device == device) release(block);
  }
  std::erase_if(peers_, [&](const auto& pair) { return pair.first == device; });
  Usage& used = used_.at(static_cast<std::size_t>(device));
  used.blocks = used.bytes = 0;
}

CUdeviceptr Memory::add(CUdeviceptr address, Block block) {
  block.id = next_id_++;
  blocks_.insert_or_assign(address, block);
  return address;
}

/// Gives back what the block's kind holds, and forgets the block.
void Memory::release(Blocks::iterator at) {
  const auto& [address, block] = *at;
  switch (block.kind) {
    case BlockKind::device:
    case BlockKind::pooled:
      arena_.give_back(address, block.bytes);
      break;
    case BlockKind::imported:
      arena_.unmap(address, block.bytes);
      break;
    case BlockKind::page_locked:
      host_bytes_ -= block.bytes;
      [[fallthrough]];
    case BlockKind::managed:
      std::free(block.memory);
      break;
    case BlockKind::registered:
      break;
  }
  blocks_.erase(at);
}

bool Memory::has_room(const Usage& used, std::size_t bytes) const {
  return bytes <= used.capacity &&
         Arena::round_up(bytes) <= used.capacity - std::min(used.bytes, used.capacity);
}

CUresult Memory::allocate(int device, std::size_t bytes, CUdeviceptr* out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  Usage& used = used_.at(static_cast<std::size_t>(device));
  const CUdeviceptr address = has_room(used, bytes) ? arena_.take(bytes) : 0;
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = add(address, {BlockKind::device, bytes, device, arena_.memory(address)});
  ++used.blocks;
  used.bytes += Arena::round_up(bytes);
  return CUDA_SUCCESS;
}

CUresult Memory::free(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  const bool is_live = found != blocks_.end() && (found->second.kind == BlockKind::device ||
                                                  found->second.kind == BlockKind::managed);
  if (!is_live) {
    add_fault(arena_.has_given(address) ? "cuMemFree of a block that is not live or not its start"
                                        : "cuMemFree of an address that the driver never gave out");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (found->second.kind == BlockKind::device) {
    Usage& used = used_.at(static_cast<std::size_t>(found->second.device));
    --used.blocks;
    used.bytes -= Arena::round_up(found->second.bytes);
  }
  release(found);
  return CUDA_SUCCESS;
}

bool Memory::reserve(int device, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Usage& used = used_.at(static_cast<std::size_t>(device));
  if (!has_room(used, bytes)) return false;
  used.bytes += bytes;
  return true;
}

void Memory::unreserve(int device, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  used_.at(static_cast<std::size_t>(device)).bytes -= bytes;
}

CUresult Memory::allocate_pooled(int device, std::size_t bytes, CUdeviceptr* out) {
  const std::lock_guard lock(mutex_);
  const CUdeviceptr address = arena_.take(bytes);
  if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
  Block block{BlockKind::pooled, bytes, device, arena_.memory(address)};
  block.is_ready = false;
  *out = add(address, block);
  return CUDA_SUCCESS;
}

void Memory::make_ready(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  if (const auto found = blocks_.find(address); found != blocks_.end()) {
    found->second.is_ready = true;
  }
}

void Memory::free_pooled(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  if (const auto found = blocks_.find(address); found != blocks_.end()) release(found);
}

std::optional<SharedBlock> Memory::share(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto found = containing(address, 1);
  if (found == blocks_.end() || found->second.kind != BlockKind::device) return std::nullopt;
  SharedBlock shared = arena_.share(found->first, found->second.bytes, found->second.id);
  shared.device = found->second.device;
  return shared;
}

CUdeviceptr Memory::import(const SharedBlock& shared) {
  const std::lock_guard lock(mutex_);
  const CUdeviceptr address = arena_.map(shared);
  if (!address) return 0;
  return add(address, {BlockKind::imported, shared.bytes, shared.device, arena_.memory(address)});
}

bool Memory::close_import(CUdeviceptr address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.kind != BlockKind::imported) return false;
  release(found);
  return true;
}

bool Memory::set_peer(int device, int peer, bool is_enabled) {
  const std::lock_guard lock(mutex_);
  return is_enabled ? peers_.insert({device, peer}).second : peers_.erase({device, peer}) == 1;
}

Memory::Blocks::const_iterator Memory::containing(CUdeviceptr address, std::size_t bytes) const {
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return blocks_.end();
  --found;
  const CUdeviceptr offset = address - found->first;
  const std::size_t size = found->second.bytes;
  return offset > size || bytes > size - offset ? blocks_.end() : found;
}

std::optional<Found> Memory::look(CUdeviceptr address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = containing(address, bytes);
  if (found == blocks_.end()) return std::nullopt;
  return Found{found->first, found->second};
}

std::byte* Memory::find(CUdeviceptr address, std::size_t bytes, int device) const {
  const std::lock_guard lock(mutex_);
  const auto found = containing(address, bytes);
  if (found == blocks_.end() || !found->second.is_ready) return nullptr;
  const Block& block = found->second;
  const bool is_remote = device >= 0 && block.device >= 0 && block.device != device;
  if (is_remote && !peers_.contains({device, block.device})) return nullptr;
  return block.memory + (address - found->first);
}

bool Memory::is_split(CUdeviceptr address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(address);
  if (block != blocks_.begin()) --block;
  for (; block != blocks_.end() && block->first < address + bytes; ++block) {
    const CUdeviceptr end = block->first + block->second.bytes;
    if (block->second.kind != BlockKind::registered || end <= address) continue;
    return block->first > address || end < address + bytes;
  }
  return false;
}

bool Memory::is_reserved(CUdeviceptr address) const {
  const std::lock_guard lock(mutex_);
  return arena_.is_reserved(address);
}

Memory::Usage Memory::usage(int device) const {
  const std::lock_guard lock(mutex_);
  return used_.at(static_cast<std::size_t>(device));
}

Memory::Usage Memory::usage(BlockKind kind) const {
  const std::lock_guard lock(mutex_);
  Usage total;
  for (const auto& [address, block] : blocks_) {
    if (block.kind != kind) continue;
    ++total.blocks;
    total.bytes += block.bytes;
  }
  return total;
}

int Memory::devices() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(used_.size());
}

CUresult Memory::take_host(BlockKind kind, std::size_t bytes, unsigned flags, CUdeviceptr* out) {
  std::byte* const memory = new_host_memory(bytes);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  const auto is_stale = [&](const auto& entry) {
    return entry.second.kind == BlockKind::registered && entry.first < address + bytes &&
           entry.first + entry.second.bytes > address;
  };
  if (std::erase_if(blocks_, is_stale) > 0) {
    add_fault("registered memory was given back to the system before it was unregistered");
  }
  *out = add(address, {kind, bytes, -1, memory, flags});
  return CUDA_SUCCESS;
}

CUresult Memory::allocate_host(std::size_t bytes, unsigned flags, void** out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  if (bytes > host_capacity_ || host_bytes_ > host_capacity_ - bytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  CUdeviceptr address = 0;
  if (const CUresult result = take_host(BlockKind::page_locked, bytes, flags, &address))
    return result;
  host_bytes_ += bytes;
  *out = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

CUresult Memory::allocate_managed(std::size_t bytes, unsigned flags, CUdeviceptr* out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  return take_host(BlockKind::managed, bytes, flags, out);
}

CUresult Memory::free_host(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<CUdeviceptr>(memory));
  if (found == blocks_.end() || found->second.kind != BlockKind::page_locked) {
    add_fault("cuMemFreeHost of memory that is not page-locked or was freed");
    return CUDA_ERROR_INVALID_VALUE;
  }
  release(found);
  return CUDA_SUCCESS;
}

CUresult Memory::register_host(void* memory, std::size_t bytes, unsigned flags) {
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  const std::lock_guard lock(mutex_);
  for (const auto& [start, block] : blocks_) {
    if (start >= address + bytes || start + block.bytes <= address) continue;
    return block.kind == BlockKind::registered ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                               : CUDA_ERROR_INVALID_VALUE;
  }
  add(address, {BlockKind::registered, bytes, -1, static_cast<std::byte*>(memory), flags});
  return CUDA_SUCCESS;
}

CUresult Memory::unregister_host(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<CUdeviceptr>(memory));
  if (found == blocks_.end() || found->second.kind != BlockKind::registered) {
    add_fault("cuMemHostUnregister of memory that is not registered, or not its start");
    const auto around = containing(reinterpret_cast<CUdeviceptr>(memory), 1);
    return around == blocks_.end() ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
                                   : CUDA_ERROR_INVALID_VALUE;
  }
  release(found);
  return CUDA_SUCCESS;
}

void Memory::attach(CUdeviceptr address, unsigned flags) {
  const std::lock_guard lock(mutex_);
  if (const auto found = blocks_.find(address); found != blocks_.end()) found->second.flags = flags;
}

}  // namespace quarry::fake
