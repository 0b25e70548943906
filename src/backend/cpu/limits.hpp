// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"

namespace quarry::backend::cpu_backend {

/// The memory available to the process: the least of MemAvailable and of what remains of the limit
/// of each of its control groups, version 1 or 2; cached files count as free. {0, 0} if unknown.
/// Does not allocate. `root` is where /proc and /sys are.
MemoryInfo memory_limits(const char* root = "");

/// Bytes of memory that the process has in use.
std::size_t resident_bytes();

}  // namespace quarry::backend::cpu_backend
