// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/driver_pool.hpp"

#include <fmt/format.h>

#include <cstdint>

#include <quarry/base/error.hpp>

#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"

namespace quarry::backend::cuda {
namespace {

bool driver_has_pools() {
  const DriverTable& d = driver();
  return d.MemPoolCreate && d.MemPoolDestroy && d.MemPoolTrimTo && d.MemPoolSetAttribute &&
         d.MemPoolGetAttribute && d.MemAllocFromPoolAsync && d.MemFreeAsync;
}

CUmemPoolProps device_memory(int id) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  props.location.id = id;
  return props;
}

/// A pool that keeps all that it has taken from the system.
CUresult make_pool(CUmemoryPool* pool, int id) {
  const CUmemPoolProps props = device_memory(id);
  if (const CUresult result = driver().MemPoolCreate(pool, &props)) return result;
  cuuint64_t all = UINT64_MAX;
  const CUresult result =
      driver().MemPoolSetAttribute(*pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
  if (result != CUDA_SUCCESS) note(driver().MemPoolDestroy(*pool));
  return result;
}

std::size_t attribute(CUmemoryPool pool, CUmemPool_attribute name) {
  cuuint64_t bytes = 0;
  check(driver().MemPoolGetAttribute(pool, name, &bytes));
  return bytes;
}

}  // namespace

void DriverPool::require_supported() const {
  require<LogicError>(driver_has_pools(),
                      "this NVIDIA driver has no stream-ordered memory pools, which came with CUDA "
                      "11.2: a newer driver is needed");
  int supported = 0;
  check(
      driver().DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device_));
  require<LogicError>(supported != 0, [&] {
    return fmt::format(
        "device {} has no stream-ordered memory pools (its attribute MEMORY_POOLS_SUPPORTED is 0)",
        id_);
  });
}

CUresult DriverPool::get(CUmemoryPool* pool) {
  *pool = pool_.load(std::memory_order_acquire);
  if (*pool) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  if ((*pool = pool_.load())) return CUDA_SUCCESS;
  require_supported();
  const CUresult result = make_pool(pool, id_);
  if (result == CUDA_SUCCESS) pool_.store(*pool, std::memory_order_release);
  return result;
}

DriverPoolInfo DriverPool::info() {
  const CUmemoryPool pool = pool_.load(std::memory_order_acquire);
  if (!pool) return {};
  return {.reserved = attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT),
          .reserved_high = attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH),
          .used = attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT),
          .used_high = attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH)};
}

void DriverPool::trim(std::size_t bytes_to_keep) {
  const CUmemoryPool pool = pool_.load(std::memory_order_acquire);
  if (pool) check(driver().MemPoolTrimTo(pool, bytes_to_keep));
}

void DriverPool::destroy() noexcept {
  const std::lock_guard lock(mutex_);
  if (const CUmemoryPool pool = pool_.exchange(nullptr)) note(driver().MemPoolDestroy(pool));
}

}  // namespace quarry::backend::cuda
