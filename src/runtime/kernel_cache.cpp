// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/kernel_cache.hpp>

#include "backend/backend.hpp"

namespace quarry {

KernelCacheStatistics kernel_cache_statistics() { return backend::kernel_cache_statistics(); }

KernelCacheInfo kernel_cache_info() { return backend::kernel_cache_info(); }

std::vector<std::string> compiled_kernels() { return backend::kernel_names(); }

}  // namespace quarry
