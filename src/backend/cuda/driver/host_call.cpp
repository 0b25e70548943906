// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/driver/host_call.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/context.hpp"
#include "base/ending.hpp"
#include "base/forked.hpp"

namespace quarry::backend::cuda {
namespace {

using std::chrono::milliseconds;
constexpr auto patience = milliseconds(50);  ///< between two checks of a device

/// Checks devices with pending calls, on a thread that never ends.
class Watcher {
 public:
  /// With the lock of the calls: one was added.
  void wake() noexcept;
  /// Before the driver ends: on return no check of a device is running.
  void stop() noexcept;

 private:
  void watch() noexcept;
  void look(Context& context) noexcept;

  // under the lock of the calls
  bool is_started_ = false, is_idle_ = false, is_looking_ = false;
  std::condition_variable added_, looked_;
};

/// All that are pending.
struct Calls {
  std::mutex mutex;
  std::map<std::uintptr_t, HostCall> pending;  ///< in the order in which they were added
  std::uintptr_t last = 0;
  Watcher watcher;

  static Calls& instance() {
    static auto* const calls = new Calls;  // outlives every thread that may still call back
    return *calls;
  }
  std::optional<HostCall> take(std::uintptr_t number) noexcept {
    const std::lock_guard lock(mutex);
    const auto found = pending.find(number);
    if (found == pending.end()) return std::nullopt;
    const HostCall call = found->second;
    pending.erase(found);
    return call;
  }
  /// A call whose device is lost.
  std::optional<HostCall> take_lost() noexcept {
    const std::lock_guard lock(mutex);
    for (auto at = pending.begin(); at != pending.end(); ++at) {
      if (!is_lost(at->second.context->id())) continue;
      const HostCall call = at->second;
      pending.erase(at);
      return call;
    }
    return std::nullopt;
  }
  /// The contexts with calls older than `number`.
  std::set<Context*> contexts(std::uintptr_t number) const {
    std::set<Context*> all;
    for (const auto& [added, call] : pending) {
      if (added <= number) all.insert(call.context);
    }
    return all;
  }
};

void stop_watching() { Calls::instance().watcher.stop(); }

void Watcher::wake() noexcept {
  if (std::exchange(is_idle_, false)) added_.notify_one();
  if (std::exchange(is_started_, true)) return;
  try {
    [[maybe_unused]] static const int registered = std::atexit(stop_watching);
    std::thread([this] { watch(); }).detach();
  } catch (const std::exception&) {  // without it a failure is seen by the next call of the driver
    is_started_ = false;
  }
}

void Watcher::stop() noexcept {
  if (is_forked()) return;
  process_is_ending = true;
  lose_all_devices();
  std::unique_lock lock(Calls::instance().mutex);
  looked_.wait_for(lock, milliseconds(200), [this] { return !is_looking_; });
}

void Watcher::watch() noexcept {
  Calls& calls = Calls::instance();
  std::unique_lock lock(calls.mutex);
  while (true) {
    is_idle_ = calls.pending.empty();
    if (is_idle_) added_.wait(lock, [this] { return !is_idle_; });
    const std::uintptr_t before = calls.last;
    lock.unlock();
    std::this_thread::sleep_for(patience);
    lock.lock();
    is_looking_ = true;
    try {
      const std::set<Context*> contexts = calls.contexts(before);
      lock.unlock();
      for (Context* const context : contexts) look(*context);
    } catch (const std::exception&) {  // no memory: the next time
    }
    if (!lock.owns_lock()) lock.lock();
    is_looking_ = false;
    looked_.notify_one();
  }
}

void Watcher::look(Context& context) noexcept {
  try {
    if (is_lost(context.id())) return fail_host_calls_of_lost_devices();
    context.probe();
  } catch (const std::exception&) {  // a fatal error has now ended all pending calls
  }
}

/// Why the device is lost.
std::exception_ptr loss(int device) noexcept {
  try {
    require_alive(device);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

PendingHostCall::PendingHostCall(const HostCall& call) {
  Calls& calls = Calls::instance();
  const std::lock_guard lock(calls.mutex);
  number_ = calls.last + 1;
  calls.pending.emplace(number_, call);
  calls.last = number_;
  calls.watcher.wake();
}

bool PendingHostCall::withdraw() noexcept { return Calls::instance().take(number_).has_value(); }

void PendingHostCall::run(void* key) {
  const auto call = Calls::instance().take(reinterpret_cast<std::uintptr_t>(key));
  if (call) call->f(call->state);
}

void fail_host_calls_of_lost_devices() noexcept {
  while (const auto call = Calls::instance().take_lost()) {
    if (call->instead) call->instead(call->state, loss(call->context->id()));
  }
}

}  // namespace quarry::backend::cuda
