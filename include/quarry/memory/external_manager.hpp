// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/callable.hpp>
#include <quarry/memory/resource.hpp>
#include <quarry/runtime/event.hpp>

#include <array>
#include <cstddef>
#include <memory>

namespace quarry {

/// Memory allocated by a manager.
struct MemoryPointer {
  void* pointer = nullptr;  ///< the first byte
  std::size_t bytes = 0;    ///< the size
  /// Called once, when no array uses the memory any more, unless it is empty. Must not throw.
  detail::Callable<void()> finalizer = {};
};

/// A memory manager of another library, under Quarry's arrays (Numba's interface for external
/// memory managers, version 1). The interface knows no streams: Quarry waits for the streams that
/// have used memory before it calls the finalizer, and memory must be ready for any stream when it
/// is returned. Members are called from any thread; two may be called at the same time.
class ExternalMemoryManager {
 public:
  virtual ~ExternalMemoryManager() = default;

  /// The version of this interface that the manager was written for: 1.
  virtual int interface_version() const = 0;
  /// Called before the first memalloc, also after a reset; possibly more often.
  virtual void initialize() = 0;
  /// Device memory, aligned to 256 bytes. Throws MemoryError if there is none.
  virtual MemoryPointer memalloc(std::size_t bytes) = 0;
  /// Page-locked host memory.
  virtual MemoryPointer memhostalloc(std::size_t bytes, bool mapped, bool portable, bool wc) = 0;
  /// Page-locks memory of the program; the finalizer unlocks it at once.
  virtual MemoryPointer mempin(void* pointer, std::size_t bytes, bool mapped) = 0;
  /// Free and total bytes of the device.
  virtual MemoryInfo get_memory_info() = 0;
  /// A CUipcMemHandle for memory of memalloc.
  virtual IpcBytes get_ipc_handle(const MemoryPointer& memory) = 0;
  /// Called before the device's context is destroyed, possibly before initialize().
  virtual void reset() = 0;
  /// While the result is alive, finalizers should defer frees that wait for the device.
  virtual std::shared_ptr<void> defer_cleanup() = 0;
};

/// A base for managers of device memory only: host memory, reset and deferred frees are Quarry's.
/// Override memalloc and get_memory_info.
class HostOnlyMemoryManager : public ExternalMemoryManager {
 public:
  /// Of the current device if none is given.
  explicit HostOnlyMemoryManager(const Device& device = {}) : device_(device) {}
  const Device& device() const { return device_; }  ///< that it was made for

  void initialize() override {}
  MemoryPointer memhostalloc(std::size_t bytes, bool mapped, bool portable, bool wc) override;
  MemoryPointer mempin(void* pointer, std::size_t bytes, bool mapped) override;
  /// For memory that the driver's cuMemAlloc made, from its start on.
  IpcBytes get_ipc_handle(const MemoryPointer& memory) override;
  void reset() override;
  std::shared_ptr<void> defer_cleanup() override;

 private:
  Device device_;
};

/// From now on arrays on `device` allocate from `manager`, each with one memalloc, and
/// Device::memory_info() calls its get_memory_info; nullptr restores the device's pool. Existing
/// arrays keep their manager alive. The same as set_current_resource with memory_manager_resource,
/// which also makes the manager usable in a ResourceGuard and under pools and adaptors. Throws
/// LogicError for another interface version.
void set_memory_manager(std::shared_ptr<ExternalMemoryManager> manager, const Device& device = {});
/// nullptr if none is set.
std::shared_ptr<ExternalMemoryManager> memory_manager(const Device& device = {});
/// `manager` as a resource. Throws LogicError for another interface version.
Resource memory_manager_resource(std::shared_ptr<ExternalMemoryManager> manager,
                                 const Device& device = {});

}  // namespace quarry
