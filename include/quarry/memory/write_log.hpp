// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <atomic>
#include <cstdint>

namespace quarry::detail {

extern std::atomic<std::uint64_t> writes_logged;

/// How many writes into device memory the process has queued; always 0 except in the checked mode
/// (QUARRY_CHECK=1).
inline std::uint64_t write_count() { return writes_logged.load(std::memory_order_relaxed); }

}  // namespace quarry::detail
