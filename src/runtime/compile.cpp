// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/compile.hpp>

#include "backend/backend.hpp"

namespace quarry {

KernelCacheStatistics kernel_cache_statistics() {
  const auto counters = backend::kernel_cache_counters();
  return {counters.memory_hits, counters.disk_hits, counters.compiled};
}

KernelCacheInfo kernel_cache_info() {
  const auto info = backend::kernel_cache_info();
  return {info.path, info.bytes, info.entries};
}

std::vector<std::string> compiled_kernels() { return backend::kernel_names(); }

}  // namespace quarry
