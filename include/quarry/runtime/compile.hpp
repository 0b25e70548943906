// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// Kernels are compiled when an expression of a new type first meets a GPU, and kept in memory and
/// on disk ($QUARRY_CACHE_DIR, else $XDG_CACHE_HOME/quarry, else ~/.cache/quarry;
/// QUARRY_DISABLE_CACHE=1 turns the disk off).
namespace quarry {

/// Where the kernels of launches came from.
struct KernelCacheStatistics {
  std::int64_t memory_hits = 0;  ///< launches whose kernel was loaded already
  std::int64_t disk_hits = 0;    ///< kernels read from disk
  std::int64_t compiled = 0;     ///< kernels that NVRTC compiled
};
/// Since the program started.
KernelCacheStatistics kernel_cache_statistics();

/// The kernels on disk.
struct KernelCacheInfo {
  std::string path;          ///< empty when the disk is not used
  std::int64_t bytes = 0;    ///< of all files
  std::int64_t entries = 0;  ///< number of files
};
/// Reads the directory.
KernelCacheInfo kernel_cache_info();

/// The types of the expressions that this process has run on a GPU, in the order of their first
/// use.
std::vector<std::string> compiled_kernels();

}  // namespace quarry
