// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/failed_callbacks.hpp"

#include <mutex>
#include <thread>
#include <utility>

namespace quarry::detail {
namespace {

/// Those that are to be called; the thread ends when there are none.
class FailedCallbacks {
 public:
  static FailedCallbacks& instance() {
    static auto* const all = new FailedCallbacks;  // outlives the thread
    return *all;
  }

  void add(std::unique_ptr<FailedCallback> callback) noexcept {
    const std::lock_guard lock(mutex_);
    *end_ = std::move(callback);
    end_ = &(*end_)->next;
    if (std::exchange(is_working_, true)) return;
    try {
      std::thread([this] { work(); }).detach();
    } catch (const std::exception&) {  // of the system, or no memory
      is_working_ = false;
    }
  }

 private:
  void work() noexcept {
    while (std::unique_ptr<FailedCallback> callback = take()) {
      callback->call();
      put_off(std::move(callback));
    }
  }

  std::unique_ptr<FailedCallback> take() noexcept {
    const std::lock_guard lock(mutex_);
    auto* const callback = static_cast<FailedCallback*>(first_.release());
    is_working_ = callback != nullptr;
    if (!callback) return nullptr;
    first_ = std::move(callback->next);
    if (!first_) end_ = &first_;
    return std::unique_ptr<FailedCallback>(callback);
  }

  std::mutex mutex_;
  std::unique_ptr<PutOff> first_;
  std::unique_ptr<PutOff>* end_ = &first_;
  bool is_working_ = false;
};

}  // namespace

void call_on_own_thread(std::unique_ptr<FailedCallback> callback) noexcept {
  FailedCallbacks::instance().add(std::move(callback));
}

}  // namespace quarry::detail
