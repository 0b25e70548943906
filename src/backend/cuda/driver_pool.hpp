// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <mutex>

#include "backend/backend.hpp"

namespace quarry::backend::cuda {

/// A stream-ordered pool of the driver that only Quarry uses and that releases nothing by itself.
/// The device's context is current in every call.
class DriverPool {
 public:
  DriverPool(CUdevice device, int id) : device_(device), id_(id) {}

  /// Made on the first call. Throws LogicError where the driver or the device has no pools.
  CUresult get(CUmemoryPool* pool);
  bool is_made() const { return pool_.load(std::memory_order_acquire) != nullptr; }
  DriverPoolInfo info();  ///< zeros before the first `get`
  void trim(std::size_t bytes_to_keep);
  /// Allocated blocks stay valid until they are freed; the next `get` makes a new pool.
  void destroy() noexcept;

 private:
  void require_supported() const;

  CUdevice device_;
  int id_;
  std::mutex mutex_;  // of the first use and of destroy
  std::atomic<CUmemoryPool> pool_ = nullptr;
};

}  // namespace quarry::backend::cuda
