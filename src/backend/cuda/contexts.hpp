// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include "backend/contexts.hpp"
#include "backend/cuda/driver/context.hpp"
#include "backend/cuda/driver_pool.hpp"

namespace quarry::backend::cuda {

/// Of one GPU, whose members it gets.
class CudaContexts final : public Contexts {
 public:
  CudaContexts(CUdevice device, Context& context, DriverPool& pool)
      : device_(device), context_(context), pool_(pool) {}

  std::optional<std::int64_t> attribute(DeviceAttribute attribute) override;
  std::size_t total_memory() override;
  std::string pci_bus_id() override;
  ContextFlags flags() override;
  void set_flags(ContextFlags flags) override;
  void* handle() override;
  void* push() override;
  void pop(void* context) override;
  void* current() override;
  void release() override;
  void set_limit(ContextLimit limit, std::size_t value) override;
  std::size_t limit(ContextLimit limit) override;
  void set_cache_config(CacheConfig config) override;
  CacheConfig cache_config() override;
  int api_version() override;

 private:
  CUdevice device_;
  Context& context_;
  DriverPool& pool_;
};

}  // namespace quarry::backend::cuda
