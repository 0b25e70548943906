// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/memory/pool.hpp"

#include <algorithm>
#include <cstring>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

constexpr std::size_t granularity = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes) {
  return (bytes + granularity - 1) / granularity * granularity;
}

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

Pools::Pool* Pools::find(CUmemoryPool pool) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() || found->second->is_destroyed ? nullptr : found->second.get();
}

CUresult Pools::create(CUmemoryPool* out, const CUmemPoolProps& properties) {
  const auto& where = properties.location;
  const bool is_right = properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                        where.type == CU_MEM_LOCATION_TYPE_DEVICE && where.id >= 0 &&
                        where.id < state().memory.devices();
  if (!is_right) return CUDA_ERROR_INVALID_VALUE;
  auto pool = std::make_unique<Pool>();
  pool->device = where.id;
  *out = reinterpret_cast<CUmemoryPool>(pool.get());
  const Guard lock(mutex_);
  pools_.emplace(*out, std::move(pool));
  return CUDA_SUCCESS;
}

CUresult Pools::destroy(CUmemoryPool handle) {
  const Guard lock(mutex_);
  Pool* const pool = find(handle);
  if (!pool) {
    add_fault("cuMemPoolDestroy of a pool that is not live");
    return CUDA_ERROR_INVALID_VALUE;
  }
  pool->is_destroyed = true;
  shrink(*pool, 0);
  if (pool->blocks == 0) pools_.erase(handle);
  return CUDA_SUCCESS;
}

CUresult Pools::trim(CUmemoryPool handle, std::size_t keep) {
  const Guard lock(mutex_);
  Pool* const pool = find(handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  shrink(*pool, keep);
  return CUDA_SUCCESS;
}

void Pools::shrink(Pool& pool, std::size_t keep) {
  const std::size_t wanted =
      std::max(round_up(pool.occupied), round_up(std::min(keep, pool.reserved)));
  if (pool.reserved <= wanted) return;
  state().memory.unreserve(pool.device, pool.reserved - wanted);
  pool.reserved = wanted;
}

CUresult Pools::set(CUmemoryPool handle, CUmemPool_attribute attribute, const void* value) {
  const Guard lock(mutex_);
  Pool* const pool = find(handle);
  if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      pool->reuse[attribute - 1] = read<int>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool->threshold = read<cuuint64_t>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      pool->reserved_high = pool->reserved;
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      pool->used_high = pool->used;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return read<cuuint64_t>(value) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Pools::get(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) const {
  const Guard lock(mutex_);
  const Pool* const pool = find(handle);
  if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
  const auto put = [&](auto number) {
    std::memcpy(value, &number, sizeof number);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return put(pool->reuse[attribute - 1]);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return put(cuuint64_t{pool->threshold});
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return put(cuuint64_t{pool->reserved});
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return put(cuuint64_t{pool->reserved_high});
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return put(cuuint64_t{pool->used});
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return put(cuuint64_t{pool->used_high});
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Pools::reserve(Pool& pool, std::size_t bytes) {
  const std::size_t wanted = round_up(pool.occupied + bytes);
  if (wanted > pool.reserved) {
    if (!state().memory.reserve(pool.device, wanted - pool.reserved)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool.reserved = wanted;
    pool.reserved_high = std::max(pool.reserved_high, wanted);
  }
  pool.occupied += bytes;
  pool.used += bytes;
  pool.used_high = std::max(pool.used_high, pool.used);
  return CUDA_SUCCESS;
}

CUresult Pools::take(CUdeviceptr* out, std::size_t bytes, CUmemoryPool handle) {
  const Guard lock(mutex_);
  Pool* const pool = find(handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t rounded = Arena::round_up(bytes);
  if (const CUresult result = reserve(*pool, rounded)) return result;
  const CUresult result = state().memory.allocate_pooled(pool->device, bytes, out);
  if (result != CUDA_SUCCESS) {
    pool->used -= rounded;
    pool->occupied -= rounded;
    return result;
  }
  ++pool->blocks;
  allocations_.insert({*out, {pool, rounded}});
  return CUDA_SUCCESS;
}

CUresult Pools::allocate(CUdeviceptr* out, std::size_t bytes, CUmemoryPool handle,
                         CUstream stream) {
  if (bytes == 0 || bytes > std::size_t{1} << 48) {
    return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
  }
  CUresult result = take(out, bytes, handle);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {  // as the driver: what is being freed may do
    state().scheduler.finish_device(current_device());
    release_surplus(current_device());
    result = take(out, bytes, handle);
  }
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  operation.work = [address = *out] {
    state().memory.make_ready(address);
    return CUDA_SUCCESS;
  };
  result = enqueue(stream, std::move(operation));
  if (result != CUDA_SUCCESS) finish_free(*out);
  return result;
}

CUresult Pools::free(CUdeviceptr address, CUstream stream) {
  {
    const Guard lock(mutex_);
    const auto found = allocations_.find(address);
    if (found == allocations_.end() || found->second.is_being_freed) {
      add_fault("cuMemFreeAsync of a block that is not live or not its start");
      return CUDA_ERROR_INVALID_VALUE;
    }
    found->second.is_being_freed = true;
    found->second.pool->used -= found->second.bytes;
  }
  Operation operation;
  operation.work = [this, address] {
    finish_free(address);
    return CUDA_SUCCESS;
  };
  const CUresult result = enqueue(stream, std::move(operation));
  if (result != CUDA_SUCCESS) {
    const Guard lock(mutex_);
    Allocation& allocation = allocations_.at(address);
    allocation.is_being_freed = false;
    allocation.pool->used += allocation.bytes;
  }
  return result;
}

void Pools::finish_free(CUdeviceptr address) {
  state().memory.free_pooled(address);
  const Guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return;
  Pool& pool = *found->second.pool;
  if (!found->second.is_being_freed) pool.used -= found->second.bytes;
  pool.occupied -= found->second.bytes;
  --pool.blocks;
  allocations_.erase(found);
  if (!pool.is_destroyed) return;
  shrink(pool, 0);
  if (pool.blocks == 0) pools_.erase(reinterpret_cast<CUmemoryPool>(&pool));
}

void Pools::release_surplus(int device) {
  const Guard lock(mutex_);
  for (const auto& [handle, pool] : pools_) {
    if (pool->device == device && pool->threshold < pool->reserved) {
      shrink(*pool, static_cast<std::size_t>(pool->threshold));
    }
  }
}

void Pools::forget(int device) {
  const Guard lock(mutex_);
  std::erase_if(allocations_, [&](const auto& a) { return a.second.pool->device == device; });
  std::erase_if(pools_, [&](const auto& entry) { return entry.second->device == device; });
}

void Pools::clear() {
  const Guard lock(mutex_);
  allocations_.clear();
  pools_.clear();
}

CUmemoryPool Pools::of(CUdeviceptr address) const {
  const Guard lock(mutex_);
  const auto found = allocations_.find(address);
  return found == allocations_.end() ? nullptr : reinterpret_cast<CUmemoryPool>(found->second.pool);
}

std::size_t Pools::pools() const {
  const Guard lock(mutex_);
  return pools_.size();
}

std::size_t Pools::blocks() const {
  const Guard lock(mutex_);
  return allocations_.size();
}

namespace entry {

CUresult pool_create(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  if (const CUresult result = enter()) return result;
  return state().pools.create(pool, *properties);
}
CUresult pool_destroy(CUmemoryPool pool) {
  if (const CUresult result = enter()) return result;
  return state().pools.destroy(pool);
}
CUresult pool_trim(CUmemoryPool pool, std::size_t keep) {
  if (const CUresult result = enter()) return result;
  return state().pools.trim(pool, keep);
}
CUresult pool_set(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (const CUresult result = enter()) return result;
  return state().pools.set(pool, attribute, value);
}
CUresult pool_get(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (const CUresult result = enter()) return result;
  return state().pools.get(pool, attribute, value);
}
CUresult pool_allocate(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  if (const CUresult result = enter()) return result;
  return state().pools.allocate(out, bytes, pool, stream);
}
CUresult pool_free(CUdeviceptr address, CUstream stream) {
  if (const CUresult result = enter()) return result;
  return state().pools.free(address, stream);
}

}  // namespace entry
}  // namespace quarry::fake
