// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <string>
#include <vector>

#include "backend/ledger.hpp"
#include "fake_driver/fake_driver.hpp"

namespace quarry::test {

/// What is alive on a device once its work is done and the library has given back what it keeps.
struct DeviceStanding {
  std::size_t array_bytes = 0;  ///< of pools
  backend::Inventory owned;     ///< by the library's ledger
};

/// What a test finds, and has to leave.
struct Standing {
  std::vector<DeviceStanding> devices;  ///< the CPU, then the GPUs
  fake::Live live;                      ///< by the fake driver
  CUcontext context = nullptr;          ///< the calling thread's current one

  /// Waits for all devices and trims them.
  static Standing now();
  /// The same as it is, with all that is queued and kept.
  static Standing as_it_is();
};

/// One sentence for each thing of which `after` has more than both `before` and `forgiven`, and one
/// if the current context is another. A thread that had no context may have a device's afterwards,
/// and one whose tests run on the CPU none, since close() is of all devices.
std::vector<std::string> left_behind(const Standing& before, const Standing& after,
                                     const Standing& forgiven);

}  // namespace quarry::test
