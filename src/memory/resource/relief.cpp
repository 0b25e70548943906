// SPDX-License-Identifier: BSD-3-Clause
#include "memory/resource/relief.hpp"

#include <quarry/base/captures.hpp>

#include <exception>
#include <iterator>

#include "memory/resource/caches.hpp"
#include "memory/resource/deferred.hpp"

namespace quarry::memory {
namespace {

constexpr int most_callbacks = 8;

/// Allocations of this thread that are under way, one within the other.
thread_local int depth = 0;

bool give_back(backend::Device& device) noexcept {
  try {
    give_back_all(device);
  } catch (const std::exception&) {  // frees what it can; the next attempt reports the error
  }
  free_deferred(device);
  return true;
}

/// After the wait no stream uses freed memory any more. On the CPU give_back() has waited already.
bool wait_and_give_back(backend::Device& device) noexcept {
  try {
    if (!device.info().is_cpu) device.synchronize();
  } catch (const std::exception&) {  // the next attempt reports it
  }
  return give_back(device);
}

/// The steps before callbacks are called, in this order. Each returns whether to try again.
constexpr bool (*steps[])(backend::Device&) noexcept = {free_deferred, give_back,
                                                        wait_and_give_back};

}  // namespace

Relief::Relief(backend::Device& device, std::size_t bytes) noexcept
    : device_(device), bytes_(bytes), is_outermost_(depth++ == 0) {}
Relief::~Relief() { --depth; }

bool Relief::next() {
  if (!is_outermost_ || (detail::is_capturing() && !device_.info().is_cpu)) return false;
  while (steps_ < std::size(steps)) {
    if (steps[steps_++](device_)) return true;
  }
  return call_back();
}

bool Relief::call_back() {
  if (callbacks_ == most_callbacks) return false;
  ++callbacks_;
  bool is_worth_it = false;
  for (const auto& cache : caches_of(device_)) {
    is_worth_it = cache->call_back(bytes_, callbacks_) || is_worth_it;
  }
  if (is_worth_it) give_back(device_);  // what was freed went into the caches
  return is_worth_it;
}

}  // namespace quarry::memory
