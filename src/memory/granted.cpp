// SPDX-License-Identifier: BSD-3-Clause
#include "memory/granted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace quarry::memory {
namespace {

/// By address. One resource may allocate parts of another one's memory.
struct Granted {
  std::mutex mutex;
  std::multimap<void*, Resource> live;
  static Granted& instance() {
    static auto& all = *new Granted;  // outlives arrays with static storage
    return all;
  }
};

/// Whether it was not there.
bool add(void* memory, const Resource& resource) {
  Granted& all = Granted::instance();
  const std::lock_guard lock(all.mutex);
  const auto [first, last] = all.live.equal_range(memory);
  const bool is_new =
      std::none_of(first, last, [&](const auto& entry) { return entry.second == resource; });
  if (is_new) all.live.emplace(memory, resource);
  return is_new;
}

void remove(void* memory, const Resource& resource) noexcept {
  Granted& all = Granted::instance();
  std::multimap<void*, Resource>::node_type node;  // ends after the lock
  const std::lock_guard lock(all.mutex);
  const auto [first, last] = all.live.equal_range(memory);
  const auto at =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == resource; });
  if (at != last) node = all.live.extract(at);
}

}  // namespace

std::shared_ptr<void> note_granted(void* memory, const Resource& resource) {
  require<LogicError>(add(memory, resource), [&] {
    return fmt::format("the resource {} returned {}, which it has handed out already",
                       resource.name(), memory);
  });
  return {memory, [resource](void* freed) { remove(freed, resource); }};
}

}  // namespace quarry::memory
