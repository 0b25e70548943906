// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/kernel_cache.hpp>

#include <string>
#include <vector>

/// Kernels are compiled when an expression of a new type first runs on a GPU, and cached in memory
/// and on disk ($QUARRY_CACHE_DIR, else $XDG_CACHE_HOME/quarry, else ~/.cache/quarry;
/// QUARRY_DISABLE_CACHE=1 disables the disk cache).
namespace quarry {

/// For this process.
KernelCacheStatistics kernel_cache_statistics();

/// Reads the directory of the kernels.
KernelCacheInfo kernel_cache_info();

/// The types of the expressions that this process has run on a GPU, in the order of their first
/// use.
std::vector<std::string> compiled_kernels();

}  // namespace quarry
