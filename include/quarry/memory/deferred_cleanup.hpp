// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <memory>

namespace quarry {

/// While any scope of a device is alive, in any thread, memory of that device is not freed by the
/// driver (which would wait for the device); it is freed when the last one ends, or when an
/// allocation would otherwise fail. Unregistering host memory is not deferred.
class DeferredCleanup {
 public:
  /// Of the current device if none is given.
  explicit DeferredCleanup(const Device& device = {});
  ~DeferredCleanup();
  DeferredCleanup(const DeferredCleanup&) = delete;
  DeferredCleanup& operator=(const DeferredCleanup&) = delete;

 private:
  Device device_;
  std::shared_ptr<void> manager_;  ///< the scope of the device's external memory manager
};
/// auto scope = defer_cleanup();
[[nodiscard]] inline DeferredCleanup defer_cleanup(const Device& device = {}) {
  return DeferredCleanup(device);
}

}  // namespace quarry
