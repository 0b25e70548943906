// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstddef>

namespace quarry {

/// Bytes of a device's memory.
struct MemoryInfo {
  std::size_t free = 0;   ///< that can be allocated now
  std::size_t total = 0;  ///< of the device
};

}  // namespace quarry
