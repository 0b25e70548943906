// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <mutex>

/// A device's primary context, which the whole process shares with the CUDA runtime and every
/// library on it.
namespace quarry::backend::cuda {

/// Makes the context of a device current for the calling thread and its scope, and then restores
/// the previous one. A thread without one keeps the device's, as under the CUDA runtime: removing
/// it would cost two driver calls at every launch.
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
  /// Creates no context yet: the first `bind` does.
  Context(CUdevice device, int id);

  /// Makes the context current on this thread for a scope. Throws DeviceLost after a fatal error
  /// and at the end of the process, where the driver may be gone and nothing is left to release;
  /// BackendUnavailable if no context can be created.
  CurrentContext bind();
  /// The same, with the number of this use of the device: those of all threads are counted.
  CurrentContext bind(std::uint64_t& number);
  /// The number of the last use.
  std::uint64_t uses() const { return uses_.load(std::memory_order_relaxed); }
  /// The same as bind() for functions that must not throw: false when the device is lost or has no
  /// context.
  CurrentContext try_bind() noexcept;

  /// The context, created if necessary, without making it current.
  CUcontext handle();
  int id() const { return id_; }  ///< of the device

  /// Asks the driver whether work on the device has failed, and throws its error. Neither waits nor
  /// disturbs a capture.
  void probe();

  /// Destroys the process's objects on the device; the next `bind` creates a new context.
  void reset();
  /// Gives up the process's retained context: destroyed unless other code has retained it, too,
  /// and then no longer the calling thread's.
  void release();
  /// Counts resets and releases that have destroyed the context: objects of an earlier generation
  /// no longer exist.
  std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Whether other code has reset the device since the context was made.
  bool is_destroyed() const noexcept;

 private:
  CUcontext retained();
  CUcontext retain() const;
  std::uint64_t note_use() noexcept { return uses_.fetch_add(1, std::memory_order_relaxed) + 1; }

  CUdevice device_;
  int id_;
  std::atomic<CUcontext> handle_ = nullptr;
  std::atomic<unsigned long long> unique_ = 0;  ///< the driver's number of the context
  std::atomic<std::uint32_t> generation_ = 0;
  std::atomic<std::uint64_t> uses_ = 0;
  std::mutex mutex_;  // of the first use and of reset
};

/// Whether other code than this library has reset the device.
bool is_reset_from_outside(int device) noexcept;

}  // namespace quarry::backend::cuda
