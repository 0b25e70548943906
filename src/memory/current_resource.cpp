// SPDX-License-Identifier: BSD-3-Clause
#include "memory/current_resource.hpp"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>
#include "base/environment.hpp"
#include "runtime/guard_stack.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

/// The resource selected by QUARRY_MEMORY.
Resource make_default(const Device& device) {
  const std::string choice = environment::memory();
  if (choice == "device") return device_resource(device);
  if (choice == "driver_pool") return driver_pool_resource(device);
  return Resource::immortal(Pool::of(device));
}

/// The resources of one device; lives as long as the process.
struct DeviceChoice {
  explicit DeviceChoice(const Device& device) : standard(make_default(device)) {}
  const Resource standard;
  std::atomic<bool> is_chosen = false;
  std::mutex mutex;
  std::optional<Resource> chosen;
};

DeviceChoice& find_choice(const Device& device) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<backend::Device*, DeviceChoice*>;
  const std::lock_guard lock(mutex);
  DeviceChoice*& choice = all[&device.backend()];
  if (!choice) choice = new DeviceChoice(device);
  return *choice;
}

struct ThreadChoice {
  detail::GuardStack<Resource> guards;
  backend::Device* device = nullptr;
  DeviceChoice* choice = nullptr;
};
thread_local constinit ThreadChoice mine;

DeviceChoice& choice_of(backend::Device& device) {
  if (mine.device != &device) [[unlikely]] {
    mine.choice = &find_choice(Device(device));
    mine.device = &device;
  }
  return *mine.choice;
}

}  // namespace

const Resource* CurrentResource::guarded(backend::Device& device) {
  for (const auto* g = mine.guards.top(); g; g = mine.guards.next(g)) {
    if (&g->value.device().backend() == &device) return &g->value;
  }
  return nullptr;
}

CurrentResource::CurrentResource(backend::Device& device) {
  if (mine.guards.top()) [[unlikely]] {
    if ((resource_ = guarded(device))) return;
  }
  DeviceChoice& choice = choice_of(device);
  resource_ = &choice.standard;
  if (choice.is_chosen.load(std::memory_order_acquire)) [[unlikely]] {
    const std::lock_guard lock(choice.mutex);
    if (choice.chosen) resource_ = &copy_.emplace(*choice.chosen);
  }
  is_standard_ = !copy_;
}

Resource current_resource(const Device& device) { return *CurrentResource(device.backend()); }

namespace {

void require_for_kernels(const Resource& resource) {
  const Device device = resource.device();
  require<LogicError>(device.is_cpu() || is_device_accessible(resource.space()), [&] {
    return fmt::format("{} memory of {} is not for kernels on {}", to_string(resource.space()),
                       resource.name(), to_string(device));
  });
}

}  // namespace

Resource set_current_resource(const Resource& resource) {
  require_for_kernels(resource);
  DeviceChoice& choice = choice_of(resource.device().backend());
  std::optional<Resource> before(resource);
  const std::lock_guard lock(choice.mutex);
  std::swap(choice.chosen, before);
  choice.is_chosen.store(true, std::memory_order_release);
  return before.value_or(choice.standard);
}

void reset_current_resource(const Device& device) {
  DeviceChoice& choice = choice_of(device.backend());
  std::optional<Resource> before;  // destroyed after the unlock
  const std::lock_guard lock(choice.mutex);
  std::swap(choice.chosen, before);
  choice.is_chosen.store(false, std::memory_order_release);
}

ResourceGuard::ResourceGuard(Resource resource) {
  require_for_kernels(resource);
  entry_ = mine.guards.push(std::move(resource));
}
ResourceGuard::~ResourceGuard() { mine.guards.end(entry_, "ResourceGuard"); }

}  // namespace quarry
