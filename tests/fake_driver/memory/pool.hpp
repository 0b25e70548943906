// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

/// Stream-ordered pools. A block may be touched between the points of its streams at which it is
/// allocated and freed.
namespace quarry::fake {

class Pools {
 public:
  CUresult create(CUmemoryPool* out, const CUmemPoolProps& properties);
  /// Its blocks stay usable; the pool goes with the last of them.
  CUresult destroy(CUmemoryPool pool);
  CUresult trim(CUmemoryPool pool, std::size_t keep);
  CUresult set(CUmemoryPool pool, CUmemPool_attribute attribute, const void* value);
  CUresult get(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) const;

  CUresult allocate(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, CUstream stream);
  CUresult free(CUdeviceptr address, CUstream stream);

  /// What waiting for work of the device does: gives back what is over the thresholds.
  void release_surplus(int device);
  void forget(int device);
  void clear();

  CUmemoryPool of(CUdeviceptr address) const;  ///< nullptr for memory of no pool
  std::size_t pools() const;
  std::size_t blocks() const;

 private:
  struct Pool {
    int device = 0;
    std::uint64_t threshold = 0;
    std::size_t reserved = 0, reserved_high = 0, used = 0, used_high = 0;
    std::size_t occupied = 0;  ///< with what is freed by work that has not run
    std::size_t blocks = 0;
    int reuse[3] = {1, 1, 1};
    bool is_destroyed = false;
  };
  struct Allocation {
    Pool* pool;
    std::size_t bytes;
    bool is_being_freed = false;
  };
  Pool* find(CUmemoryPool pool) const;
  CUresult reserve(Pool& pool, std::size_t bytes);
  void shrink(Pool& pool, std::size_t keep);
  void finish_free(CUdeviceptr address);
  CUresult take(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool);

  mutable std::mutex mutex_;
  std::map<CUmemoryPool, std::unique_ptr<Pool>> pools_;
  std::map<CUdeviceptr, Allocation> allocations_;
};

}  // namespace quarry::fake
