// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>

/// A process that was forked after the first use of the library has copies of its objects, but no
/// threads and no usable driver, and possibly locks that are never released. In it only destructors
/// work; they do nothing.
namespace quarry {

namespace detail {
inline constinit std::atomic<bool> forked = false;
[[noreturn]] void refuse_forked();
}  // namespace detail

/// Called at the first use of a device: from then on forked processes are detected, and wait for
/// NoForks.
void watch_forks();

/// While one exists, fork() waits in every other thread: for libraries with locks that a forked
/// process would find held for ever, even in exit(). Does not throw.
class NoForks {
 public:
  NoForks() noexcept;
  NoForks(const NoForks&) = delete;
  NoForks& operator=(const NoForks&) = delete;
  ~NoForks();
};

inline bool is_forked() noexcept { return detail::forked.load(std::memory_order_relaxed); }

/// Throws LogicError in such a process.
inline void require_not_forked() {
  if (is_forked()) [[unlikely]]
    detail::refuse_forked();
}

}  // namespace quarry
