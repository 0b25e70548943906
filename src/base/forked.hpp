// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>

/// A process that was forked after the library was used has its objects without the threads and the
/// driver behind them, and maybe with locks that nobody will ever open. There nothing works but the
/// end of objects, which does nothing.
namespace quarry {

namespace detail {
inline constinit std::atomic<bool> forked = false;
[[noreturn]] void refuse_forked();
}  // namespace detail

/// To be called where a device is used first: from then on forked processes know that they are.
void watch_forks();

inline bool is_forked() noexcept { return detail::forked.load(std::memory_order_relaxed); }

/// Throws LogicError in such a process.
inline void require_not_forked() {
  if (is_forked()) [[unlikely]]
    detail::refuse_forked();
}

}  // namespace quarry
