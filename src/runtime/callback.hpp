// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <memory>
#include <new>
#include <utility>

/// Host functions of streams. In them the driver refuses every call, and nothing may wait for a
/// stream: destructors that would do so are deferred.
namespace quarry::detail {

inline constinit std::atomic<int> running_callbacks = 0;
bool runs_on_this_thread() noexcept;
/// Whether such a function runs on this thread.
inline bool is_in_callback() noexcept {
  return running_callbacks.load(std::memory_order_relaxed) != 0 && runs_on_this_thread();
}

/// Its destructor is deferred to the next call that waits, queues a callback or resets a
/// device.
struct PutOff {
  PutOff() = default;
  PutOff(const PutOff&) = delete;
  PutOff& operator=(const PutOff&) = delete;
  virtual ~PutOff() = default;
  std::unique_ptr<PutOff> next = nullptr;  ///< of the deferred ones
};
void put_off(std::unique_ptr<PutOff> end) noexcept;

/// Defers the destruction of the result of `make()`. If that runs out of memory, it is leaked: a
/// leak is better than a deadlock.
template <class Make>
void call_later(const Make& make) noexcept {
  using F = decltype(make());
  struct Call final : PutOff {
    explicit Call(F g) : f(std::move(g)) {}
    ~Call() override { f(); }
    F f;
  };
  try {
    put_off(std::make_unique<Call>(make()));
  } catch (const std::bad_alloc&) {
  }
}

/// Deletes what `shared_ptr`s own; in a callback later.
struct DeleteOutsideCallbacks {
  template <class T>
  void operator()(T* object) const noexcept {
    if (!is_in_callback()) {
      delete object;
    } else {
      call_later([=] { return [=] { delete object; }; });
    }
  }
};

}  // namespace quarry::detail
