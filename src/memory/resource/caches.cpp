// SPDX-License-Identifier: BSD-3-Clause
#include "memory/resource/caches.hpp"

#include <quarry/runtime/device.hpp>

#include <algorithm>
#include <exception>
#include <mutex>

#include "memory/resource/deferred.hpp"
#include "runtime/stream_lifetime.hpp"

namespace quarry::memory {
namespace {

struct Caches {
  std::mutex mutex;
  std::vector<std::weak_ptr<Cache>> all;
  std::vector<std::shared_ptr<Cache>> immortal;  ///< own nothing; `all` refers to them
  std::vector<Trim> trims;
  static Caches& instance();
};

std::size_t give_back_to(backend::Device& device) {
  give_back_all(device);
  free_deferred(device);  // also within scopes of defer_cleanup(): the context may be destroyed
  std::size_t used = 0;
  for (const auto& cache : caches_of(device)) used += cache->bytes_in_use();
  return used;
}

/// From the first cache on, close() and reset() know of them all.
Caches& Caches::instance() {
  static Caches* const caches = (detail::set_trim_hook(give_back_to), new Caches);
  return *caches;
}

/// Calls `f` and keeps the first error.
template <class F>
void attempt(std::exception_ptr& first, F f) {
  try {
    f();
  } catch (...) {
    if (!first) first = std::current_exception();
  }
}

}  // namespace

void add_cache(const std::weak_ptr<Cache>& cache) {
  Caches& caches = Caches::instance();
  const std::lock_guard lock(caches.mutex);
  std::erase_if(caches.all, [](const auto& weak) { return weak.expired(); });
  caches.all.push_back(cache);
}

void add_cache(Cache& immortal) {
  const std::shared_ptr<Cache> unowned(&immortal, [](Cache*) {});
  {
    const std::lock_guard lock(Caches::instance().mutex);
    Caches::instance().immortal.push_back(unowned);
  }
  add_cache(unowned);
}

void add_trim(Trim trim) {
  const std::lock_guard lock(Caches::instance().mutex);
  Caches::instance().trims.push_back(trim);
}

std::vector<std::shared_ptr<Cache>> caches_of(const backend::Device& device) {
  std::vector<std::shared_ptr<Cache>> found;
  {
    Caches& caches = Caches::instance();
    const std::lock_guard lock(caches.mutex);
    for (const auto& weak : caches.all) {
      if (auto cache = weak.lock()) found.push_back(std::move(cache));
    }
  }
  std::erase_if(found, [&](const auto& cache) { return &cache->owner() != &device; });
  std::reverse(found.begin(), found.end());
  return found;
}

void give_back_all(backend::Device& device) {
  detail::end_retired_streams();
  std::vector<Trim> trims;
  {
    const std::lock_guard lock(Caches::instance().mutex);
    trims = Caches::instance().trims;
  }
  std::exception_ptr first;
  for (const Trim trim : trims) attempt(first, [&] { trim(device); });
  for (const auto& cache : caches_of(device)) attempt(first, [&] { cache->give_back(); });
  attempt(first, [&] { device.trim_driver_pool(0); });
  if (first) std::rethrow_exception(first);
}

}  // namespace quarry::memory
