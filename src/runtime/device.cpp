// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/device.hpp>
#include <quarry/runtime/memoize.hpp>

#include <fmt/format.h>

#include <atomic>
#include <iostream>
#include <optional>

#include "backend/backend.hpp"
#include "backend/contexts.hpp"
#include "base/environment.hpp"
#include "runtime/default_device.hpp"
#include "runtime/inventory.hpp"
#include "runtime/kept_owners.hpp"
#include "runtime/left_work.hpp"
#include "runtime/stream_lifetime.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

std::atomic<detail::TrimHook> trim_hook = nullptr;
std::atomic<decltype(detail::ManagerHooks::info)> manager_info_hook = nullptr;
std::atomic<decltype(detail::ManagerHooks::reset)> manager_reset_hook = nullptr;

std::size_t trim(backend::Device& device) {
  const detail::TrimHook hook = trim_hook.load();
  return hook ? hook(device) : 0;
}

}  // namespace

Device::Device() : Device(get_current_device()) {}
Device Device::cpu() {
  environment::require_sound();
  return Device(backend::cpu());
}

Device Device::cuda(int id) {
  environment::require_sound();
  const auto& all = backend::cuda_devices();
  require<BackendUnavailable>(!all.empty(),
                              [] { return "no GPU can be used: " + backend::cuda_status().why; });
  require<IndexError>(id >= 0 && static_cast<std::size_t>(id) < all.size(),
                      [&] { return fmt::format("GPU {} of {}", id, all.size()); });
  return Device(*all[static_cast<std::size_t>(id)]);
}

namespace {

Device named(const std::string& text) {
  const bool is_bus_id = text.find('.') != text.npos || text.find(':') != text.rfind(':');
  return is_bus_id ? Device::from_pci_bus_id(text) : Device::parse(text);
}

}  // namespace

Device::Device(const std::string& text) : Device(named(text)) {}

Device Device::from_pci_bus_id(const std::string& text) {
  const Device first = cuda(0);
  backend::Device* const found = backend::cuda_device_at(text);
  require<LogicError>(found, [&] {
    return fmt::format("there is no GPU at the PCI bus id \"{}\"; one is as \"{}\"", text,
                       first.pci_bus_id());
  });
  return Device(*found);
}

int Device::count() { return static_cast<int>(backend::cuda_devices().size()); }

Device Device::parse(const std::string& text) {
  const auto id = runtime::parse_device_name(text);
  return id ? cuda(*id) : cpu();
}

bool Device::is_cpu() const { return backend_->info().is_cpu; }
int Device::id() const { return backend_->info().id; }
std::string Device::name() const { return backend_->info().name; }
std::string Device::uuid() const { return backend_->info().uuid; }
std::pair<int, int> Device::compute_capability() const {
  return backend_->info().compute_capability;
}
std::map<std::string, std::int64_t> Device::attributes() const { return backend_->attributes(); }

namespace {

/// Nothing where the device does not have it.
std::optional<std::int64_t> attribute_of(backend::Device& device, DeviceAttribute attribute) {
  if (!device.info().is_cpu) return device.contexts().attribute(attribute);
  const auto all = device.attributes();
  const auto found = all.find(to_string(attribute));
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

[[noreturn]] void refuse_attribute(const Device& device, const std::string& name) {
  throw LogicError(fmt::format("{} has no attribute \"{}\"", to_string(device), name));
}

}  // namespace

std::int64_t Device::attribute(DeviceAttribute attribute) const {
  const auto value = attribute_of(*backend_, attribute);
  if (!value) refuse_attribute(*this, to_string(attribute));
  return *value;
}

std::int64_t Device::attribute(const std::string& name) const {
  const auto wanted = parse_device_attribute(name);
  if (!wanted) refuse_attribute(*this, name);
  return attribute(*wanted);
}

ComputeMode Device::compute_mode() const {
  return is_cpu() ? ComputeMode::default_
                  : static_cast<ComputeMode>(attribute(DeviceAttribute::compute_mode));
}

std::size_t Device::total_memory() const {
  return is_cpu() ? backend_->memory_info().total : backend_->contexts().total_memory();
}
std::string Device::pci_bus_id() const {
  return is_cpu() ? std::string() : backend_->contexts().pci_bus_id();
}

MemoryInfo Device::memory_info() const {
  MemoryInfo managed;
  const auto ask_manager = manager_info_hook.load();
  if (ask_manager && ask_manager(*backend_, managed)) return managed;
  return backend_->memory_info();
}
bool Device::can_access_peer(const Device& other) const {
  return backend_->can_access_peer(*other.backend_);
}
void Device::enable_peer_access(const Device& peer) const {
  backend_->enable_peer_access(*peer.backend_);
}
void Device::disable_peer_access(const Device& peer) const {
  backend_->disable_peer_access(*peer.backend_);
}
void Device::synchronize() const {
  if (const Stream* const stream = detail::guarded_stream(*this)) {
    detail::require_not_captured(stream->state(), "Device::synchronize()");
  }
  detail::WaitForWork work(*backend_);
  {
    const detail::DropFinishedCallbacks after;
    backend_->synchronize();
  }
  work.rethrow();
}

std::size_t runtime::settle(backend::Device& device) {
  device.synchronize();
  detail::drop_finished_callbacks();  // and with them their streams
  detail::end_kept_owners(SIZE_MAX);
  const std::size_t in_arrays = trim(device);
  detail::end_retired_streams();
  return in_arrays;
}

backend::Inventory runtime::inventory(const Device& device) {
  return device.backend().ledger().inventory();
}

backend::Inventory runtime::owned_inventory(const Device& device) {
  settle(device.backend());
  return inventory(device);
}

void Device::reset() const {
  synchronize();
  clear_context_caches(*this);
  const std::size_t in_arrays = runtime::settle(*backend_);
  require<LogicError>(in_arrays == 0, [&] {
    return fmt::format(
        "{} cannot be reset: arrays of pools hold {} bytes on it; alive on it are {}",
        to_string(*this), in_arrays, to_string(runtime::inventory(*this)));
  });
  if (const auto reset_manager = manager_reset_hook.load()) reset_manager(*backend_);
  backend_->reset();
}

std::string to_string(const Device& device) {
  return device.is_cpu() ? "cpu" : fmt::format("cuda:{}", device.id());
}
std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << to_string(device);
}

bool is_available() { return why_unavailable().empty(); }
std::string cuda_error() { return backend::cuda_status().error; }
std::string why_unavailable() {
  const auto& status = backend::cuda_status();
  return status.available ? status.nvrtc_why : status.why;
}
std::pair<int, int> driver_version() { return backend::cuda_status().driver_version; }
std::pair<int, int> nvrtc_version() { return backend::cuda_status().nvrtc_version; }
int get_driver_version() {
  const auto [major, minor] = driver_version();
  return 1000 * major + 10 * minor;
}
std::array<int, 3> get_version() {
  const int version = backend::cuda_built_against();
  return {version / 1000, version % 1000 / 10, version % 10};
}

bool detect(std::ostream& out) {
  const auto& all = backend::cuda_devices();
  out << fmt::format("Found {} CUDA devices\n", all.size());
  for (const auto& gpu : all) {
    const auto& info = gpu->info();
    const auto [major, minor] = info.compute_capability;
    out << fmt::format("id {}    {:<32} [{}]\n", info.id, info.name,
                       is_available() ? "SUPPORTED" : "NOT SUPPORTED")
        << fmt::format("      compute capability: {}.{}\n", major, minor)
        << fmt::format("                    uuid: {}\n", info.uuid);
    const auto attributes = gpu->attributes();
    const auto line = [&](const char* label, const char* name) {
      const auto found = attributes.find(name);
      if (found != attributes.end()) out << fmt::format("{:>24}: {}\n", label, found->second);
    };
    line("pci device id", "PCI_DEVICE_ID");
    line("pci bus id", "PCI_BUS_ID");
    line("multiprocessors", "MULTIPROCESSOR_COUNT");
    line("watchdog", "KERNEL_EXEC_TIMEOUT");
  }
  const std::string why = why_unavailable();
  if (!why.empty()) out << why << '\n';
  const std::size_t supported = why.empty() ? all.size() : 0;
  out << fmt::format("Summary:\n      {}/{} devices are supported\n", supported, all.size());
  return supported > 0;
}
bool detect() { return detect(std::cout); }

std::size_t DeviceList::size() const { return backend::cuda_devices().size(); }
Device DeviceList::operator[](int id) const { return Device::cuda(id); }
Device DeviceList::current() const {
  const Device device;
  require<LogicError>(!device.is_cpu(), "gpus.current: the current device is the CPU");
  return device;
}

void detail::set_trim_hook(TrimHook hook) { trim_hook = hook; }

void detail::set_manager_hooks(const ManagerHooks& hooks) {
  manager_info_hook = hooks.info;
  manager_reset_hook = hooks.reset;
}

}  // namespace quarry
