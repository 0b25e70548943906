// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/context.hpp>
#include <quarry/runtime/memoize.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "backend/backend.hpp"
#include "backend/contexts.hpp"
#include "runtime/context_stack.hpp"
#include "runtime/current_device.hpp"
#include "runtime/default_device.hpp"
#include "runtime/inventory.hpp"

namespace quarry {

/// Of one call of make_context() or retain_primary_context().
struct Context::Share {
  std::atomic<bool> is_detached = false;
};

Context Device::retain_primary_context() const {
  Context context(*this);
  context.handle();
  context.share_ = std::make_shared<Context::Share>();
  return context;
}

Context Device::make_context(ContextFlags flags) const {
  if (!is_cpu() && flags != ContextFlags::sched_auto) backend_->contexts().set_flags(flags);
  Context context = retain_primary_context();
  context.push();
  return context;
}

void Context::require_attached() const {
  require<LogicError>(!share_ || !share_->is_detached, [&] {
    return fmt::format("this handle of the context of {} has been detached", to_string(device_));
  });
}

void Context::push() const {
  require_attached();
  runtime::push_context(device_.backend(), share_);
}
void Context::pop() const { runtime::pop_context(&device_.backend()); }
Context Context::pop_current() { return Context(Device(runtime::pop_context(nullptr))); }

void Context::detach() {
  require<LogicError>(share_ != nullptr, [&] {
    return fmt::format(
        "this handle of the context of {} cannot be detached: it is not of make_context() or "
        "retain_primary_context()",
        to_string(device_));
  });
  require_attached();
  if (runtime::pushed_handle() == share_.get()) pop();
  share_->is_detached = true;
  runtime::settle(device_.backend());
}

void Context::set_limit(ContextLimit limit, std::size_t value) const {
  require_attached();
  device_.backend().contexts().set_limit(limit, value);
}
std::size_t Context::get_limit(ContextLimit limit) const {
  require_attached();
  return device_.backend().contexts().limit(limit);
}
void Context::set_cache_config(CacheConfig config) const {
  require_attached();
  device_.backend().contexts().set_cache_config(config);
}
CacheConfig Context::get_cache_config() const {
  require_attached();
  return device_.backend().contexts().cache_config();
}
int Context::get_api_version() const {
  require_attached();
  return device_.backend().contexts().api_version();
}
ContextFlags Context::flags() const {
  return device_.is_cpu() ? ContextFlags::sched_auto : device_.backend().contexts().flags();
}
void* Context::handle() const {
  require_attached();
  return device_.is_cpu() ? nullptr : device_.backend().contexts().handle();
}

Context current_context() { return Context(get_current_device()); }
Context current_context(int id) {
  select_device(id);
  return require_context();
}
Context require_context() {
  Context context = current_context();
  context.get_memory_info();
  return context;
}

namespace {

void* cuda_context(const Device& device) {
  return device.is_cpu() ? nullptr : device.backend().contexts().current();
}

}  // namespace

detail::ContextCheck::ContextCheck()
    : device_(require_context().device()),
      context_(cuda_context(device_)),
      depth_(runtime::pushed_contexts()) {}

/// Whether there was anything to restore.
bool detail::ContextCheck::restore() noexcept {
  const bool is_changed =
      runtime::pushed_contexts() != depth_ || runtime::current_device() != &device_.backend();
  runtime::drop_contexts(depth_);
  runtime::current_device() = &device_.backend();
  return is_changed;
}

void detail::ContextCheck::end() {
  const std::string after = to_string(get_current_device());
  const bool is_switched = restore() || cuda_context(device_) != context_;
  require<LogicError>(!is_switched, [&] {
    return fmt::format(
        "a function under require_context() has switched the context: {} was current before, {} "
        "is after it",
        to_string(device_), after);
  });
}

Context make_default_context() {
  const runtime::DefaultDevice& found = runtime::default_device();
  require<BackendUnavailable>(found.is_asked_for || !found.device.is_cpu(), [] {
    const std::string why = why_unavailable();
    return "no GPU can be used: " + (why.empty() ? "all are busy" : why);
  });
  return found.device.make_context();
}

const DefaultContext& autoinit() {
  static std::mutex mutex;
  static const DefaultContext* made = nullptr;  // never destroyed: for exit handlers too
  const std::lock_guard lock(mutex);
  if (!made) {
    const Context context = make_default_context();
    made = new DefaultContext{context.device(), context};
  }
  return *made;
}
const DefaultContext& autoprimaryctx() { return autoinit(); }

void synchronize() { get_current_device().synchronize(); }

namespace {

bool has_used(const backend::Device& device) {
  const backend::DeviceInfo& info = device.info();
  const std::uint64_t bit = info.is_cpu ? backend::cpu_bit : backend::gpu_bit(info.id);
  return &device == runtime::current_device() || (backend::used_devices & bit) != 0;
}

/// Does not initialise CUDA if no GPU has been used.
std::vector<backend::Device*> used_devices() {
  const backend::Device* const current = runtime::current_device();
  std::vector<backend::Device*> used;
  if (has_used(backend::cpu())) used.push_back(&backend::cpu());
  const bool has_gpus =
      (current && !current->info().is_cpu) || backend::used_devices > backend::cpu_bit;
  if (!has_gpus) return used;
  for (const auto& gpu : backend::cuda_devices()) {
    if (has_used(*gpu)) used.push_back(gpu.get());
  }
  return used;
}

bool is_main_thread() { return gettid() == getpid(); }

/// Leaves a context alone in which anything of the library is alive.
void close(backend::Device& device) {
  clear_context_caches(Device(device));
  runtime::settle(device);
  const bool is_released =
      !device.info().is_cpu && is_main_thread() && device.ledger().inventory().empty();
  if (is_released) device.contexts().release();
}

}  // namespace

void close() {
  std::exception_ptr first;
  const std::vector<backend::Device*> used = used_devices();
  runtime::drop_contexts(0);
  for (backend::Device* const device : used) {
    try {
      close(*device);
    } catch (...) {  // the others are closed all the same
      if (!first) first = std::current_exception();
    }
  }
  runtime::current_device() = nullptr;
  backend::used_devices = 0;
  if (first) std::rethrow_exception(first);
}

}  // namespace quarry
