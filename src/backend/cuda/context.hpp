// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <mutex>

/// A device's primary context, which the whole process shares with the CUDA runtime and every
/// library on it.
namespace quarry::backend::cuda {

class Context {
 public:
  /// Takes no context yet: the first `bind` does.
  Context(CUdevice device, int id) : device_(device), id_(id) {}

  /// Makes the context current on this thread if it is not. Throws DeviceLost after a fatal error
  /// and at the end of the process, where the driver may be gone and nothing is left to release;
  /// BackendUnavailable when the device gives no context.
  void bind();
  /// The same for functions that must not throw: false when the device is lost or has no context.
  bool try_bind() noexcept;

  /// The context, made if need be. It becomes current on no thread.
  CUcontext handle();

  /// Destroys all that the process holds on the device; the next `bind` starts anew.
  void reset();
  /// Counts resets: what was made in an earlier generation is gone.
  std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  bool is_current() const noexcept;
  CUcontext retained();

  CUdevice device_;
  int id_;
  std::atomic<CUcontext> handle_ = nullptr;
  std::atomic<std::uint32_t> generation_ = 0;
  std::mutex mutex_;  // of the first use and of reset
};

}  // namespace quarry::backend::cuda
