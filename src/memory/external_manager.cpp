// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/current_resource.hpp>
#include <quarry/memory/deferred_cleanup.hpp>
#include <quarry/memory/external_manager.hpp>

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "backend/backend.hpp"
#include "memory/manager_forwarding.hpp"
#include "memory/resource/deferred.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/report.hpp"
#include "memory/resource/stream_order.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {

// --- the host's memory ---------------------------------------------------------------------------

MemoryPointer HostOnlyMemoryManager::memhostalloc(std::size_t bytes, bool mapped, bool portable,
                                                  bool wc) {
  backend::Device& device = device_.backend();
  const backend::HostMemoryFlags flags{
      .portable = portable, .mapped = mapped, .write_combined = wc};
  void* const memory =
      memory::with_relief(device, bytes, [&] { return device.allocate_host(bytes, flags); });
  if (!memory) {
    throw MemoryError(fmt::format("page-locked memory on {}", to_string(device_)),
                      memory::with_device({.requested = bytes}, device));
  }
  return {memory, bytes, [&device, memory] { memory::free_host_memory(device, memory); }};
}

MemoryPointer HostOnlyMemoryManager::mempin(void* pointer, std::size_t bytes, bool mapped) {
  backend::Device& device = device_.backend();
  memory::with_relief(device, bytes, [&] {
    device.register_host(pointer, bytes, {.mapped = mapped});
    return true;
  });
  return {pointer, bytes, [&device, pointer] { device.unregister_host(pointer); }};
}

IpcBytes HostOnlyMemoryManager::get_ipc_handle(const MemoryPointer& memory) {
  return device_.backend().export_memory(memory.pointer);
}

void HostOnlyMemoryManager::reset() { memory::free_deferred(device_.backend()); }

std::shared_ptr<void> HostOnlyMemoryManager::defer_cleanup() {
  return std::make_shared<DeferredCleanup>(device_);
}

// --- a manager as a resource ---------------------------------------------------------------------

namespace {

using ManagerPtr = std::shared_ptr<ExternalMemoryManager>;

void require_version(const ManagerPtr& manager) {
  require<LogicError>(manager != nullptr, "a memory manager that is nullptr");
  const int version = manager->interface_version();
  require<LogicError>(version == 1, [&] {
    return fmt::format("the memory manager has interface version {} - version 1 required", version);
  });
}

class ManagedResource final : public Resource::Interface {
 public:
  ManagedResource(ManagerPtr m, const Device& device) : manager(std::move(m)), device_(device) {}
  ManagedResource(const ManagedResource&) = delete;
  ManagedResource& operator=(const ManagedResource&) = delete;

  void* allocate(const Stream&, std::size_t bytes, std::size_t) override {
    prepare();
    const MemoryPointer memory = manager->memalloc(bytes);
    void* const address = memory.pointer;
    require<MemoryError>(address != nullptr, [&] {
      return fmt::format("the memory manager of {} returned no memory for {} bytes",
                         to_string(device_), bytes);
    });
    require_size(memory, bytes);
    require<LogicError>(add(address, memory), [&] {
      return fmt::format("the memory manager returned {}, which is in use", address);
    });
    return address;
  }
  void deallocate(const Stream& stream, std::span<const Stream> others, void* address, std::size_t,
                  std::size_t) noexcept override {
    memory::wait_quietly(stream, others);
    std::unique_lock lock(mutex_);
    const auto node = live_.extract(address);
    lock.unlock();
    if (node && node.mapped().finalizer) node.mapped().finalizer();
  }
  MemorySpace space() const override { return MemorySpace::device; }
  Device device() const override { return device_; }
  std::string name() const override { return "memory manager"; }
  void trim() override {}

  /// Throws LogicError while its memory is in use.
  void reset() {
    {
      const std::lock_guard lock(mutex_);
      require<LogicError>(live_.empty(), [&] {
        return fmt::format("{} cannot be reset: arrays have {} blocks of its memory manager",
                           to_string(device_), live_.size());
      });
      is_prepared_ = false;
    }
    manager->reset();
  }
  /// The block that begins at `address`.
  std::optional<MemoryPointer> find(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto at = live_.find(const_cast<void*>(address));
    return at == live_.end() ? std::nullopt : std::optional(at->second);
  }

  const ManagerPtr manager;

 private:
  void prepare() {
    const std::lock_guard lock(prepare_mutex_);
    if (is_prepared_) return;
    manager->initialize();
    is_prepared_ = true;
  }
  /// Frees memory that is too small.
  static void require_size(const MemoryPointer& memory, std::size_t bytes) {
    if (memory.bytes >= bytes) return;
    if (memory.finalizer) memory.finalizer();
    throw LogicError(
        fmt::format("the memory manager returned {} of {} bytes", memory.bytes, bytes));
  }
  /// Returns whether it was not there.
  bool add(void* address, const MemoryPointer& memory) {
    try {
      const std::lock_guard lock(mutex_);
      return live_.try_emplace(address, memory).second;
    } catch (...) {
      if (memory.finalizer) memory.finalizer();
      throw;
    }
  }

  const Device device_;
  std::mutex prepare_mutex_, mutex_;
  std::atomic<bool> is_prepared_ = false;
  std::map<void*, MemoryPointer> live_;
};

}  // namespace

Resource memory_manager_resource(ManagerPtr manager, const Device& device) {
  require_version(manager);
  return Resource(std::make_shared<ManagedResource>(std::move(manager), device));
}

// --- the manager of a device ---------------------------------------------------------------------

namespace {

struct Installed {
  std::mutex mutex;
  std::map<backend::Device*, std::shared_ptr<ManagedResource>> all;
};
Installed& installed() {
  static auto& i = *new Installed;
  return i;
}

std::shared_ptr<ManagedResource> find_installed(const Device& device) {
  const std::lock_guard lock(installed().mutex);
  const auto at = installed().all.find(&device.backend());
  return at == installed().all.end() ? nullptr : at->second;
}

/// A manager may query the device while the device queries it: the device answers the inner query
/// itself.
thread_local bool is_asking = false;
struct Asking {
  Asking() { is_asking = true; }
  ~Asking() { is_asking = false; }
};

bool manager_info(backend::Device& device, MemoryInfo& info) {
  const auto found = is_asking ? nullptr : find_installed(Device(device));
  if (!found) return false;
  const Asking asking;
  info = found->manager->get_memory_info();
  return true;
}

void manager_reset(backend::Device& device) {
  if (const auto found = find_installed(Device(device))) found->reset();
}

}  // namespace

std::shared_ptr<void> memory::defer_cleanup_of_manager(const Device& device) {
  const auto found = is_asking ? nullptr : find_installed(device);
  if (!found) return nullptr;
  const Asking asking;
  return found->manager->defer_cleanup();
}

std::optional<IpcBytes> memory::ipc_handle_of_manager(const Device& device, const void* address) {
  const auto found = find_installed(device);
  const auto block = found ? found->find(address) : std::nullopt;
  if (!block) return std::nullopt;
  return found->manager->get_ipc_handle(*block);
}

void set_memory_manager(ManagerPtr manager, const Device& device) {
  if (!manager) {
    reset_current_resource(device);
    const std::lock_guard lock(installed().mutex);
    installed().all.erase(&device.backend());
    return;
  }
  require_version(manager);
  detail::set_manager_hooks({.info = manager_info, .reset = manager_reset});
  auto resource = std::make_shared<ManagedResource>(std::move(manager), device);
  {
    const std::lock_guard lock(installed().mutex);
    installed().all.insert_or_assign(&device.backend(), resource);
  }
  set_current_resource(Resource(std::move(resource)));
}

ManagerPtr memory_manager(const Device& device) {
  const auto found = find_installed(device);
  return found ? found->manager : nullptr;
}

}  // namespace quarry
