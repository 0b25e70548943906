// SPDX-License-Identifier: BSD-3-Clause
#include "memory/resource/deferred.hpp"

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <vector>

namespace quarry::memory {
namespace {

enum class Kind : bool { device, host };

struct Freed {
  Kind kind;
  void* memory;
  std::size_t bytes;
};

struct Deferred {
  int scopes = 0;
  std::vector<Freed> queue;
};

std::atomic<int> scopes_anywhere = 0;

/// Never destroyed: statics of the program may free memory after main.
struct Registry {
  std::mutex mutex;
  std::map<backend::Device*, Deferred> devices;
};
Registry& registry() {
  static auto& r = *new Registry;
  return r;
}

void free_now(backend::Device& device, const Freed& f) noexcept {
  f.kind == Kind::device ? device.free(f.memory, f.bytes) : device.free_host(f.memory);
}

/// Whether a scope has taken it.
bool defer(backend::Device& device, const Freed& f) noexcept {
  if (scopes_anywhere.load(std::memory_order_relaxed) == 0) return false;
  try {
    const std::lock_guard lock(registry().mutex);
    const auto at = registry().devices.find(&device);
    if (at == registry().devices.end() || at->second.scopes == 0) return false;
    at->second.queue.push_back(f);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void free_unless_deferred(backend::Device& device, const Freed& f) noexcept {
  if (f.memory && !defer(device, f)) free_now(device, f);
}

std::vector<Freed> take_queue(backend::Device& device) noexcept {
  const std::lock_guard lock(registry().mutex);
  const auto at = registry().devices.find(&device);
  return at == registry().devices.end() ? std::vector<Freed>()
                                        : std::exchange(at->second.queue, {});
}

/// Returns the number of scopes that are left.
int count_scopes(backend::Device& device, int change) {
  const std::lock_guard lock(registry().mutex);
  int& scopes = registry().devices[&device].scopes;
  scopes_anywhere += change;
  return scopes += change;
}

}  // namespace

void free_device_memory(backend::Device& device, void* memory, std::size_t bytes) noexcept {
  free_unless_deferred(device, {Kind::device, memory, bytes});
}
void free_host_memory(backend::Device& device, void* memory) noexcept {
  free_unless_deferred(device, {Kind::host, memory, 0});
}

bool free_deferred(backend::Device& device) noexcept {
  const auto queue = take_queue(device);
  for (const auto& f : queue) free_now(device, f);
  return !queue.empty();
}

void begin_deferring(backend::Device& device) { count_scopes(device, 1); }
void end_deferring(backend::Device& device) {
  if (count_scopes(device, -1) == 0) free_deferred(device);
}

}  // namespace quarry::memory
