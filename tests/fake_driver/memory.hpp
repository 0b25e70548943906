// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

/// The registry of device and page-locked memory.
namespace quarry::fake {

class Memory {
 public:
  void set_devices(const std::vector<std::size_t>& capacities);
  void set_capacity(int device, std::size_t bytes);

  CUresult allocate(int device, std::size_t bytes, CUdeviceptr* out);
  /// The device whose block starts at `address`, or -1.
  int owner(CUdeviceptr address) const;
  CUresult free(CUdeviceptr address);
  CUresult allocate_host(std::size_t bytes, void** out);
  CUresult free_host(void* memory);
  void forget(int device);  ///< drops the device's blocks

  /// Where the bytes [address, address + bytes) are kept, or nullptr unless they are in one live
  /// block of the device (any device for -1) or in page-locked memory.
  std::byte* find(CUdeviceptr address, std::size_t bytes, int device) const;
  bool is_device(CUdeviceptr address, std::size_t bytes) const;
  bool is_pinned(const void* memory, std::size_t bytes) const;

  struct Usage {
    std::size_t blocks = 0, bytes = 0, capacity = 0;
  };
  Usage usage(int device) const;
  Usage host_usage() const;
  int devices() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Block {
    std::size_t bytes;
    int device;  ///< -1 for the host's
    std::unique_ptr<std::byte, Free> memory;
  };
  const Block* containing(CUdeviceptr address, std::size_t bytes, CUdeviceptr* start) const;

  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Block> blocks_;
  std::vector<Usage> used_;
  Usage host_used_;
  CUdeviceptr first_ = 0, next_ = 0;
};

}  // namespace quarry::fake
