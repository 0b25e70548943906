// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"

namespace quarry::backend::cpu_backend {

/// What the system and the control groups of the process leave it: the least of MemAvailable and
/// of what each group, of version 1 or 2, has left of its limit; files that it only caches count as
/// free. {0, 0} where nothing is told. Takes no memory. `root` is where /proc and /sys are.
MemoryInfo memory_limits(const char* root = "");

/// Bytes of memory that the process has in use.
std::size_t resident_bytes();

}  // namespace quarry::backend::cpu_backend
