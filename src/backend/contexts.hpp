// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <quarry/base/context_flags.hpp>
#include <quarry/base/context_limit.hpp>
#include <quarry/base/device_attribute.hpp>
#include <quarry/base/kernel_function.hpp>

#include "backend/backend.hpp"

/// What only GPUs have: their primary context, and what can be asked without one. A context is a
/// CUcontext.
namespace quarry::backend {

class Contexts {
 public:
  virtual ~Contexts() = default;

  // These create no context.

  /// Nothing where the device or its driver does not have it. One call of the driver.
  virtual std::optional<std::int64_t> attribute(DeviceAttribute attribute) = 0;
  virtual std::size_t total_memory() = 0;
  virtual std::string pci_bus_id() = 0;
  virtual ContextFlags flags() = 0;
  /// At once, also of a context that exists already. Throws LogicError for bits that there are not.
  virtual void set_flags(ContextFlags flags) = 0;

  /// Created if necessary, and not made current.
  virtual void* handle() = 0;
  /// Makes handle() current on top of the thread's stack in the driver, and returns it.
  virtual void* push() = 0;
  /// Takes `context`, which push() has returned, from the thread's stack in the driver. Throws
  /// LogicError if another one is current there. Nothing once the driver has ended.
  virtual void pop(void* context) = 0;
  /// Of the thread, in the driver; nullptr if there is none.
  virtual void* current() = 0;
  /// Gives up the library's part of the context, which is destroyed unless others have retained it.
  /// Nothing of the library may be alive in it, and no other thread may use it. Nothing if there is
  /// no context.
  virtual void release() = 0;

  virtual void set_limit(ContextLimit limit, std::size_t value) = 0;
  virtual std::size_t limit(ContextLimit limit) = 0;
  virtual void set_cache_config(CacheConfig config) = 0;
  virtual CacheConfig cache_config() = 0;
  virtual int api_version() = 0;
};

/// The GPU at a PCI bus id; nullptr if there is none, or if the text is none.
Device* cuda_device_at(const std::string& pci_bus_id);
/// CUDA_VERSION of the header that the library was built with; 0 without CUDA.
int cuda_built_against();

}  // namespace quarry::backend
