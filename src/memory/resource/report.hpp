// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/error.hpp>

#include <exception>

#include "backend/backend.hpp"

namespace quarry::memory {

/// Adds what the device has and what of it is free, as far as it tells.
inline MemoryReport with_device(MemoryReport report, backend::Device& device) noexcept {
  try {
    const auto info = device.memory_info();
    report.device_free = info.free;
    report.device_total = info.total;
  } catch (const std::exception&) {  // the figures are not worth another error
  }
  return report;
}

}  // namespace quarry::memory
