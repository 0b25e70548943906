// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/driver/check.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <string_view>

#include <quarry/base/error.hpp>

#include "backend/backend.hpp"
#include "backend/cuda/driver/context.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/host_call.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr int max_devices = 256;
// codes that CUDA 12.0 does not name yet
constexpr int contained = 226, tensor_memory_leak = 721, invalid_cluster_size = 912;
/// The first fatal code of each device.
std::array<std::atomic<CUresult>, max_devices> first_cause{};
thread_local int checked_device = 0;

std::string place(const Where& where) {
  const std::string_view file = where.file;
  const auto slash = file.rfind('/');
  return fmt::format("{}:{}", file.substr(slash == file.npos ? 0 : slash + 1), where.line);
}

/// Why the device is lost, CUDA_SUCCESS if it is not. In a context that other code has destroyed
/// calls fail with any code.
CUresult cause_of_loss(CUresult result) noexcept {
  if (is_fatal(result) || result == CUDA_SUCCESS) return result;
  return is_reset_from_outside(checked_device) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

void remember(CUresult result) noexcept {
  CUresult none = CUDA_SUCCESS;
  first_cause[static_cast<std::size_t>(checked_device)].compare_exchange_strong(none, result);
  fail_host_calls_of_lost_devices();
}

/// Whether the code says that a kernel failed while it ran.
bool is_kernel_fault(CUresult result) noexcept {
  switch (static_cast<int>(result)) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case tensor_memory_leak:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void raise_lost(int device, const std::string& text) {
  if (is_kernel_fault(first_cause[static_cast<std::size_t>(device)])) throw KernelFault(text);
  throw DeviceLost(text);
}

std::string lost_text(int device) {
  const CUresult cause = first_cause[static_cast<std::size_t>(device)];
  return fmt::format("device {} is lost for the rest of the process; the first cause was {}{}",
                     device, error_text(cause),
                     cause == CUDA_ERROR_CONTEXT_IS_DESTROYED
                         ? " (another part of the program has reset the device)"
                         : "");
}

template <class E>
[[noreturn]] void raise_as(CUresult result, const Where& where) {
  throw E(fmt::format("{}, at {}", error_text(result), place(where)));
}

/// For codes that leave the device usable.
[[noreturn]] void raise_error(CUresult result, const Where& where) {
  switch (static_cast<int>(result)) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      raise_as<MemoryError>(result, where);
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      raise_as<BackendUnavailable>(result, where);
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case invalid_cluster_size:
      raise_as<LaunchError>(result, where);
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_ILLEGAL_STATE:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
    case CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
    case CUDA_ERROR_NOT_SUPPORTED:
      raise_as<LogicError>(result, where);
    case CUDA_ERROR_NOT_PERMITTED:
      throw LogicError(fmt::format(
          "{}, at {}: as in a function that a stream calls on the host, which may not use a device",
          error_text(result), place(where)));
    default:
      raise_as<RuntimeError>(result, where);
  }
}

}  // namespace

std::string error_text(CUresult result) {
  const char *name = nullptr, *description = nullptr;
  driver().GetErrorName(result, &name);
  driver().GetErrorString(result, &description);
  return fmt::format("{} ({}): {}", name ? name : "CUDA error", static_cast<int>(result),
                     description ? description : "unknown to this driver");
}

bool is_fatal(CUresult result) noexcept {
  switch (static_cast<int>(result)) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case contained:
      return true;
    default:
      return is_kernel_fault(result);
  }
}

void detail::raise(CUresult result, const Where& where) {
  if (const CUresult cause = cause_of_loss(result); cause != CUDA_SUCCESS) {
    remember(cause);
    raise_lost(checked_device,
               fmt::format("{}, seen at {}", lost_text(checked_device), place(where)));
  }
  raise_error(result, where);
}

void detail::raise_launch(CUresult result, const Where& where) {
  const bool is_refused =
      result == CUDA_ERROR_INVALID_VALUE && cause_of_loss(result) == CUDA_SUCCESS;
  if (is_refused) raise_as<LaunchError>(result, where);
  raise(result, where);
}

void note(CUresult result) noexcept {
  if (const CUresult cause = cause_of_loss(result); cause != CUDA_SUCCESS) remember(cause);
}

void set_checked_device(int device) noexcept {
  checked_device = device % max_devices;
  used_devices |= gpu_bit(device);
}

bool is_lost(int device) noexcept {
  return first_cause[static_cast<std::size_t>(device)].load(std::memory_order_relaxed) !=
         CUDA_SUCCESS;
}

void lose_all_devices() noexcept {
  for (std::atomic<CUresult>& cause : first_cause) {
    CUresult none = CUDA_SUCCESS;
    cause.compare_exchange_strong(none, CUDA_ERROR_DEINITIALIZED);
  }
}

void require_alive(int device) {
  if (is_lost(device)) [[unlikely]]
    raise_lost(device, lost_text(device));
}

}  // namespace quarry::backend::cuda
