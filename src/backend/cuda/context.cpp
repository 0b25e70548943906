// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/context.hpp"

#include <cstdlib>

#include "backend/cuda/check.hpp"
#include "backend/cuda/driver.hpp"

namespace quarry::backend::cuda {
namespace {

/// The handler runs before those that the driver registered while it was loaded.
void watch_exit() { [[maybe_unused]] static const int registered = std::atexit(lose_all_devices); }

}  // namespace

bool Context::is_current() const noexcept {
  CUcontext current = nullptr;
  return driver().CtxGetCurrent(&current) == CUDA_SUCCESS && current &&
         current == handle_.load(std::memory_order_acquire);
}

CUcontext Context::retained() {
  const std::lock_guard lock(mutex_);
  if (CUcontext handle = handle_.load()) return handle;
  watch_exit();
  CUcontext handle = nullptr;
  check(driver().DevicePrimaryCtxRetain(&handle, device_));
  handle_.store(handle, std::memory_order_release);
  return handle;
}

void Context::bind() {
  require_alive(id_);
  set_checked_device(id_);
  if (is_current()) return;
  check(driver().CtxSetCurrent(retained()));
}

bool Context::try_bind() noexcept {
  if (is_lost(id_) || !handle_.load()) return false;
  set_checked_device(id_);
  if (is_current()) return true;
  const CUresult result = driver().CtxSetCurrent(handle_.load());
  note(result);
  return result == CUDA_SUCCESS;
}

CUcontext Context::handle() {
  require_alive(id_);
  const CUcontext handle = handle_.load(std::memory_order_acquire);
  return handle ? handle : retained();
}

void Context::reset() {
  require_alive(id_);
  set_checked_device(id_);
  const std::lock_guard lock(mutex_);
  if (!handle_.load()) return;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  check(driver().DevicePrimaryCtxReset(device_));
  handle_.store(nullptr, std::memory_order_release);
}

}  // namespace quarry::backend::cuda
