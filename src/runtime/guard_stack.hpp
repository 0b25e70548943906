// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdio>
#include <utility>

/// The values that guards have set in one thread, the innermost on top. Guards may end in any
/// order. One that ends on another thread marks its entry, which this thread removes at its next
/// access: no lock is taken, and no entry is freed while a thread reads it.
namespace quarry::detail {

template <class T>
struct GuardEntry {
  T value;
  GuardEntry* below;
  std::atomic<bool> has_ended = false;
  std::atomic<int> holders = 2;  ///< the guard and the thread

  static void drop(GuardEntry* entry) noexcept {
    if (entry->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete entry;
  }
};

/// To be thread_local, one for each T.
template <class T>
class GuardStack {
 public:
  using Entry = GuardEntry<T>;

  /// The innermost entry, or nullptr.
  Entry* top() noexcept {
    while (top_ && top_->has_ended.load(std::memory_order_acquire))
      [[unlikely]] Entry::drop(std::exchange(top_, top_->below));
    return top_;
  }
  /// The innermost entry below this one, or nullptr.
  static Entry* next(const Entry* entry) noexcept {
    Entry* below = entry->below;
    while (below && below->has_ended.load(std::memory_order_acquire)) below = below->below;
    return below;
  }

  Entry* push(T value) {
    struct AtThreadEnd {
      GuardStack& stack;
      ~AtThreadEnd() { stack.clear(); }
    };
    thread_local const AtThreadEnd cleanup{*this};
    return top_ = new Entry{std::move(value), top()};
  }

  /// The end of the guard, which `name` names, wherever its entry is.
  void end(Entry* entry, const char* name) noexcept {
    entry->has_ended.store(true, std::memory_order_release);
    if (!remove(entry)) {
      std::fprintf(stderr,
                   "quarry: a %s was destroyed on another thread than the one that made it, where "
                   "it counts no more from now on\n",
                   name);
    }
    Entry::drop(entry);
  }

 private:
  /// Whether this thread has it.
  bool remove(Entry* entry) noexcept {
    for (Entry** at = &top_; *at; at = &(*at)->below) {
      if (*at != entry) continue;
      *at = entry->below;
      Entry::drop(entry);
      return true;
    }
    return false;
  }
  /// The thread ends before its guards.
  void clear() noexcept {
    while (top_) Entry::drop(std::exchange(top_, top_->below));
  }

  Entry* top_ = nullptr;
};

}  // namespace quarry::detail
