// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/memoize.hpp>

#include <vector>

namespace quarry {
namespace {

using CachePtr = std::shared_ptr<detail::ContextCache>;

struct Caches {
  std::mutex mutex;
  std::vector<std::weak_ptr<detail::ContextCache>> all;
  static Caches& instance() {
    static auto* const caches = new Caches;  // outlives functions of static storage
    return *caches;
  }
  std::vector<CachePtr> alive() {
    const std::lock_guard lock(mutex);
    std::vector<CachePtr> found;
    for (const auto& each : all) {
      if (CachePtr cache = each.lock()) found.push_back(std::move(cache));
    }
    return found;
  }
};

/// The results are destroyed without a lock: that may call anything.
void clear(const backend::Device* device) {
  for (const CachePtr& cache : Caches::instance().alive()) cache->take(device);
}

}  // namespace

void detail::add_context_cache(std::weak_ptr<ContextCache> cache) {
  Caches& caches = Caches::instance();
  const std::lock_guard lock(caches.mutex);
  std::erase_if(caches.all, [](const auto& each) { return each.expired(); });
  caches.all.push_back(std::move(cache));
}

const backend::Device* detail::current_cache_key() { return &get_current_device().backend(); }

void clear_context_caches() { clear(nullptr); }
void clear_context_caches(const Device& device) { clear(&device.backend()); }

}  // namespace quarry
