// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/device.hpp>
#include <quarry/runtime/memoize.hpp>

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <fstream>
#include <iostream>
#include <optional>

#include "backend/backend.hpp"
#include "base/environment.hpp"
#include "base/forked.hpp"
#include "runtime/guard_stack.hpp"
#include "runtime/inventory.hpp"
#include "runtime/kept_owners.hpp"
#include "runtime/stream_lifetime.hpp"

namespace quarry {
namespace {

std::atomic<detail::TrimHook> trim_hook = nullptr;
std::atomic<decltype(detail::ManagerHooks::info)> manager_info_hook = nullptr;
std::atomic<decltype(detail::ManagerHooks::reset)> manager_reset_hook = nullptr;

std::size_t trim(backend::Device& device) {
  const detail::TrimHook hook = trim_hook.load();
  return hook ? hook(device) : 0;
}

/// The first word of ~/.cuda-device, as PyCUDA reads it.
std::optional<std::string> device_file() {
  const auto home = environment::text("HOME");
  if (!home) return std::nullopt;
  std::ifstream file(*home + "/.cuda-device");
  std::string word;
  return file >> word ? std::optional(word) : std::nullopt;
}

/// A whole number of at most nine digits.
std::optional<int> parse_ordinal(const std::string& text) {
  int id = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, id);
  return error == std::errc() && end == last ? std::optional(id) : std::nullopt;
}

/// "cpu", "cuda" or "cuda:1" as a number of a GPU; nothing for the CPU.
std::optional<int> parse_name(const std::string& text) {
  if (text == "cpu") return std::nullopt;
  if (text == "cuda") return 0;
  const auto id = text.starts_with("cuda:") ? parse_ordinal(text.substr(5)) : std::nullopt;
  require<LogicError>(id.has_value(), [&] {
    return fmt::format("\"{}\" is not a device; use cpu, cuda or cuda:N", text);
  });
  return id;
}

std::optional<int> parse_device_variable(const std::string& text) {
  try {
    return parse_name(text);
  } catch (const LogicError& e) {
    throw LogicError(std::string("QUARRY_DEVICE: ") + e.what());
  }
}

/// A GPU that `source` names: an error if it cannot be used.
Device asked_for(const std::string& source, const std::string& text, std::optional<int> id) {
  const auto describe = [&](const std::string& why) {
    return fmt::format("{} asks for \"{}\": {}", source, text, why);
  };
  require<LogicError>(id.has_value(), [&] { return describe("that is not the number of a GPU"); });
  try {
    const Device device = Device::cuda(*id);
    device.backend().memory_info();  // a busy GPU cannot create a context
    return device;
  } catch (const IndexError& e) {
    if (*id < 0) throw LogicError(describe(e.what()));
    throw BackendUnavailable(describe(e.what()));
  } catch (const Error& e) {
    throw BackendUnavailable(describe(e.what()));
  }
}

/// The first GPU whose context can be created, else the CPU. Without NVRTC no GPU is chosen.
Device first_usable() {
  if (!is_available()) return Device::cpu();
  for (const auto& gpu : backend::cuda_devices()) {
    try {
      gpu->memory_info();
      return Device(*gpu);
    } catch (const Error&) {  // busy or exclusive: the next one may do
    }
  }
  return Device::cpu();
}

Device find_default() {
  environment::require_sound();
  if (const auto text = environment::text("QUARRY_DEVICE")) {
    const auto id = parse_device_variable(*text);
    return id ? asked_for("QUARRY_DEVICE", *text, id) : Device::cpu();
  }
  if (const auto text = environment::text("CUDA_DEVICE")) {
    return asked_for("CUDA_DEVICE", *text, parse_ordinal(*text));
  }
  if (const auto text = device_file()) {
    return asked_for("~/.cuda-device", *text, parse_ordinal(*text));
  }
  return first_usable();
}

Device default_device() {
  static const Device device = find_default();
  return device;
}

thread_local constinit backend::Device* outermost = nullptr;
thread_local constinit detail::GuardStack<backend::Device*> guards;

/// The calling thread's current device, nullptr for the default one.
backend::Device*& current() {
  auto* const guard = guards.top();
  return guard ? guard->value : outermost;
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

Device Device::parse(const std::string& text) {
  const auto id = parse_name(text);
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

std::int64_t Device::attribute(const std::string& name) const {
  const auto all = attributes();
  const auto found = all.find(name);
  require<LogicError>(found != all.end(), [&] {
    return fmt::format("{} has no attribute \"{}\"", to_string(*this), name);
  });
  return found->second;
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
void Device::synchronize() const {
  const detail::DropFinishedCallbacks after;
  backend_->synchronize();
}

namespace {

/// Waits, and frees all of the library's caches of the device.
std::size_t settle(backend::Device& device) {
  device.synchronize();
  detail::drop_finished_callbacks();  // and with them their streams
  detail::end_kept_owners(SIZE_MAX);
  const std::size_t in_arrays = trim(device);
  detail::end_retired_streams();
  return in_arrays;
}

}  // namespace

backend::Inventory runtime::inventory(const Device& device) {
  return device.backend().ledger().inventory();
}

backend::Inventory runtime::owned_inventory(const Device& device) {
  settle(device.backend());
  return inventory(device);
}

void Device::reset() const {
  clear_context_caches(*this);
  const std::size_t in_arrays = settle(*backend_);
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

Device get_current_device() {
  require_not_forked();
  backend::Device*& device = current();
  if (!device) device = &default_device().backend();
  return Device(*device);
}
void set_current_device(const Device& device) { current() = &device.backend(); }
Device select_device(int id) {
  const Device device = Device::cuda(id);
  set_current_device(device);
  return device;
}

DeviceGuard::DeviceGuard(const Device& device) : entry_(guards.push(&device.backend())) {}
DeviceGuard::~DeviceGuard() { guards.end(entry_, "DeviceGuard"); }

Context current_context() { return Context(get_current_device()); }
Context require_context() {
  const Context context = current_context();
  context.get_memory_info();
  return context;
}
void synchronize() { get_current_device().synchronize(); }

namespace {

bool has_used(const backend::Device& device) {
  const backend::DeviceInfo& info = device.info();
  const std::uint64_t bit = info.is_cpu ? backend::cpu_bit : backend::gpu_bit(info.id);
  return &device == current() || (backend::used_devices & bit) != 0;
}

/// Does not initialise CUDA if no GPU has been used.
std::vector<backend::Device*> used_devices() {
  std::vector<backend::Device*> used;
  if (has_used(backend::cpu())) used.push_back(&backend::cpu());
  const bool has_gpus =
      (current() && !current()->info().is_cpu) || backend::used_devices > backend::cpu_bit;
  if (!has_gpus) return used;
  for (const auto& gpu : backend::cuda_devices()) {
    if (has_used(*gpu)) used.push_back(gpu.get());
  }
  return used;
}

}  // namespace

void close() {
  std::exception_ptr first;
  for (backend::Device* const device : used_devices()) {
    try {
      clear_context_caches(Device(*device));
      settle(*device);
    } catch (...) {  // the others are closed all the same
      if (!first) first = std::current_exception();
    }
  }
  current() = nullptr;
  backend::used_devices = 0;
  if (first) std::rethrow_exception(first);
}

void detail::set_trim_hook(TrimHook hook) { trim_hook = hook; }

void detail::set_manager_hooks(const ManagerHooks& hooks) {
  manager_info_hook = hooks.info;
  manager_reset_hook = hooks.reset;
}

}  // namespace quarry
