// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/driver/context.hpp"

#include <array>
#include <cstdlib>

#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "base/forked.hpp"

namespace quarry::backend::cuda {
namespace {

/// The handler runs before those that the driver registered while it was loaded.
void watch_exit() { [[maybe_unused]] static const int registered = std::atexit(lose_all_devices); }

/// By ordinal; devices live as long as the process.
std::array<std::atomic<const Context*>, 256> contexts{};

CUcontext current_context() noexcept {
  CUcontext current = nullptr;
  return driver().CtxGetCurrent(&current) == CUDA_SUCCESS ? current : nullptr;
}

/// 0 where the driver has no numbers.
unsigned long long unique_number(CUcontext context) noexcept {
  unsigned long long number = 0;
  const bool is_known = driver().CtxGetId && driver().CtxGetId(context, &number) == CUDA_SUCCESS;
  return is_known ? number : 0;
}

}  // namespace

void CurrentContext::restore() const noexcept { driver().CtxSetCurrent(previous_); }

Context::Context(CUdevice device, int id) : device_(device), id_(id) {
  contexts[static_cast<std::size_t>(id) % contexts.size()] = this;
}

bool Context::is_destroyed() const noexcept {
  const CUcontext handle = handle_.load(std::memory_order_acquire);
  if (!handle) return false;
  unsigned flags = 0;
  int is_active = 1;
  const CUresult result = driver().DevicePrimaryCtxGetState(device_, &flags, &is_active);
  if (result == CUDA_SUCCESS && !is_active) return true;
  const unsigned long long known = unique_.load(), now = known ? unique_number(handle) : 0;
  return now != 0 && now != known;
}

bool is_reset_from_outside(int device) noexcept {
  const Context* const context = contexts[static_cast<std::size_t>(device) % contexts.size()];
  return context && context->is_destroyed();
}

CUcontext Context::retain() const {
  CUcontext handle = nullptr;
  check(driver().DevicePrimaryCtxRetain(&handle, device_));
  return handle;
}

CUcontext Context::retained() {
  const std::lock_guard lock(mutex_);
  if (CUcontext handle = handle_.load()) return handle;
  watch_exit();
  const CUcontext handle = retain();
  unique_.store(unique_number(handle));
  handle_.store(handle, std::memory_order_release);
  return handle;
}

CurrentContext Context::bind() {
  std::uint64_t number;
  return bind(number);
}

CurrentContext Context::bind(std::uint64_t& number) {
  number = note_use();
  require_not_forked();
  require_alive(id_);
  set_checked_device(id_);
  const CUcontext before = current_context();
  if (before && before == handle_.load(std::memory_order_acquire)) [[likely]]
    return CurrentContext(nullptr);
  const CUcontext handle = retained();
  check(driver().CtxSetCurrent(handle));
  return CurrentContext(before == handle ? nullptr : before);
}

CurrentContext Context::try_bind() noexcept {
  note_use();
  const CUcontext handle = handle_.load(std::memory_order_acquire);
  if (is_forked() || is_lost(id_) || !handle) return {};
  set_checked_device(id_);
  const CUcontext before = current_context();
  if (before == handle) return CurrentContext(nullptr);
  const CUresult result = driver().CtxSetCurrent(handle);
  note(result);
  if (result != CUDA_SUCCESS) return {};
  return CurrentContext(before);
}

CUcontext Context::handle() {
  note_use();
  require_not_forked();
  require_alive(id_);
  const CUcontext handle = handle_.load(std::memory_order_acquire);
  return handle ? handle : retained();
}

// Uses an event, since the driver checks for failures of other work only while work is running.
void Context::probe() {
  const auto current = bind();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (driver().ThreadExchangeStreamCaptureMode) driver().ThreadExchangeStreamCaptureMode(&mode);
  CUevent event = nullptr;
  check(driver().EventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUresult result = driver().EventRecord(event, CU_STREAM_PER_THREAD);
  if (result == CUDA_SUCCESS) result = driver().EventQuery(event);
  note(driver().EventDestroy(event));
  if (result != CUDA_ERROR_NOT_READY) check(result);
}

void Context::reset() {
  require_not_forked();
  require_alive(id_);
  set_checked_device(id_);
  note_use();
  const std::lock_guard lock(mutex_);
  const CUcontext handle = handle_.exchange(nullptr);
  if (!handle) return;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  const CUresult result = driver().DevicePrimaryCtxReset(device_);
  if (result != CUDA_SUCCESS) handle_.store(handle, std::memory_order_release);
  check(result);
  note(driver().DevicePrimaryCtxRelease(device_));  // what a reset leaves retained
}

void Context::release() {
  require_not_forked();
  require_alive(id_);
  set_checked_device(id_);
  note_use();
  const std::lock_guard lock(mutex_);
  const CUcontext handle = handle_.load();
  if (!handle) return;
  check(driver().DevicePrimaryCtxRelease(device_));
  if (!is_destroyed()) {  // other code has retained it, too
    if (retain() == handle && !is_destroyed()) return;
    note(driver().DevicePrimaryCtxRelease(device_));  // a new one, which is not this library's
  }
  if (current_context() == handle) driver().CtxSetCurrent(nullptr);
  handle_.store(nullptr, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace quarry::backend::cuda
