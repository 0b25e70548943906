// SPDX-License-Identifier: BSD-3-Clause
#include "memory/relief.hpp"

#include <exception>

#include "memory/caches.hpp"
#include "memory/deferred.hpp"

namespace quarry::memory {
namespace {

constexpr int most_callbacks = 8;

/// Allocations of this thread that are under way, one within the other.
thread_local int depth = 0;

void give_back_quietly(backend::Device& device) noexcept {
  try {
    give_back_all(device);
  } catch (const std::exception&) {  // as much as could be; the next attempt meets the error
  }
  free_deferred(device);
}

/// What streams still use is freed then. On the CPU whoever gives back has waited already.
void wait_quietly(backend::Device& device) noexcept {
  try {
    if (!device.info().is_cpu) device.synchronize();
  } catch (const std::exception&) {
  }
}

}  // namespace

Relief::Relief(backend::Device& device, std::size_t bytes) noexcept
    : device_(device), bytes_(bytes), is_outermost_(depth++ == 0) {}
Relief::~Relief() { --depth; }

bool Relief::next() {
  if (!is_outermost_) return false;
  switch (step_++) {
    case 0:
      if (free_deferred(device_)) return true;
      ++step_;
      [[fallthrough]];
    case 1:
      give_back_quietly(device_);
      return true;
    case 2:
      wait_quietly(device_);
      give_back_quietly(device_);
      return true;
    default:
      return call_back();
  }
}

bool Relief::call_back() {
  if (callbacks_ == most_callbacks) return false;
  ++callbacks_;
  bool is_worth_it = false;
  for (const auto& cache : caches_of(device_)) {
    is_worth_it = cache->call_back(bytes_, callbacks_) || is_worth_it;
  }
  if (is_worth_it) give_back_quietly(device_);  // what was freed went into the caches
  return is_worth_it;
}

}  // namespace quarry::memory
