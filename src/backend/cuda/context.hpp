// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <mutex>

/// A device's primary context, which the whole process shares with the CUDA runtime and every
/// library on it.
namespace quarry::backend::cuda {

/// As long as this lives the calling thread has the context of a device as its current one, and
/// afterwards the one that it had. A thread that had none keeps the device's, as it does under the
/// CUDA runtime: to take it away would cost two calls of the driver at every launch.
class [[nodiscard]] CurrentContext {
 public:
  CurrentContext() = default;  ///< of no device
  explicit CurrentContext(CUcontext previous) : is_bound_(true), previous_(previous) {}
  ~CurrentContext() {
    if (previous_) [[unlikely]]
      restore();
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  explicit operator bool() const { return is_bound_; }

 private:
  void restore() const noexcept;
  bool is_bound_ = false;
  CUcontext previous_ = nullptr;  ///< nullptr when there is nothing to restore
};

class Context {
 public:
  /// Takes no context yet: the first `bind` does.
  Context(CUdevice device, int id);

  /// Makes the context current on this thread for a scope. Throws DeviceLost after a fatal error
  /// and at the end of the process, where the driver may be gone and nothing is left to release;
  /// BackendUnavailable when the device gives no context.
  CurrentContext bind();
  /// The same for functions that must not throw: false when the device is lost or has no context.
  CurrentContext try_bind() noexcept;

  /// The context, made if need be. It becomes current on no thread.
  CUcontext handle();

  /// Destroys all that the process holds on the device; the next `bind` starts anew.
  void reset();
  /// Counts resets: what was made in an earlier generation is gone.
  std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Whether somebody else has reset the device since the context was made.
  bool is_destroyed() const noexcept;

 private:
  CUcontext retained();

  CUdevice device_;
  int id_;
  std::atomic<CUcontext> handle_ = nullptr;
  std::atomic<unsigned long long> unique_ = 0;  ///< the driver's number of the context
  std::atomic<std::uint32_t> generation_ = 0;
  std::mutex mutex_;  // of the first use and of reset
};

/// Whether somebody else has reset the device behind this library's back.
bool is_reset_from_outside(int device) noexcept;

}  // namespace quarry::backend::cuda
