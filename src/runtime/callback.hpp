// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <memory>
#include <new>
#include <utility>

/// The functions that streams call on the host. There the driver refuses every call, and nothing
/// may wait for a stream: what ends there and would do so is put off.
namespace quarry::detail {

inline constinit std::atomic<int> running_callbacks = 0;
bool runs_on_this_thread() noexcept;
/// Whether such a function runs on this thread.
inline bool is_in_callback() noexcept {
  return running_callbacks.load(std::memory_order_relaxed) != 0 && runs_on_this_thread();
}

/// Its destructor is called by the next caller of the library who waits for something, queues a
/// callback or resets a device.
struct PutOff {
  PutOff() = default;
  PutOff(const PutOff&) = delete;
  PutOff& operator=(const PutOff&) = delete;
  virtual ~PutOff() = default;
  std::unique_ptr<PutOff> next = nullptr;  ///< of those that are put off
};
void put_off(std::unique_ptr<PutOff> end) noexcept;

/// Puts off the call of what `make()` returns. Nothing is called where there is no memory for that:
/// a leak is better than a wait without end.
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
