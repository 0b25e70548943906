// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/current_device.hpp"

#include <quarry/runtime/device.hpp>

#include "base/forked.hpp"
#include "runtime/default_device.hpp"

namespace quarry {
namespace {

thread_local constinit backend::Device* outermost = nullptr;
thread_local constinit detail::GuardStack<backend::Device*> guards;

}  // namespace

backend::Device*& runtime::current_device() {
  auto* const guard = guards.top();
  return guard ? guard->value : outermost;
}

runtime::CurrentDevice* runtime::push_current_device(backend::Device& device) {
  return guards.push(&device);
}
void runtime::end_current_device(CurrentDevice* entry) { guards.end(entry, "context"); }
bool runtime::is_innermost(const CurrentDevice* entry) { return guards.top() == entry; }

Device get_current_device() {
  require_not_forked();
  backend::Device*& device = runtime::current_device();
  if (!device) device = &runtime::default_device().device.backend();
  return Device(*device);
}
void set_current_device(const Device& device) { runtime::current_device() = &device.backend(); }
Device select_device(int id) {
  const Device device = Device::cuda(id);
  set_current_device(device);
  return device;
}

DeviceGuard::DeviceGuard(const Device& device) : entry_(guards.push(&device.backend())) {}
DeviceGuard::~DeviceGuard() { guards.end(entry_, "DeviceGuard"); }

}  // namespace quarry
