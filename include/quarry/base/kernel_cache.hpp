// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstdint>
#include <string>

namespace quarry {

/// Where the kernels of launches came from.
struct KernelCacheStatistics {
  std::int64_t memory_hits = 0;  ///< launches whose kernel was loaded already
  std::int64_t disk_hits = 0;    ///< kernels read from disk
  std::int64_t compiled = 0;     ///< kernels that NVRTC compiled
};

/// The kernels on disk.
struct KernelCacheInfo {
  std::string path;          ///< empty when the disk is not used
  std::int64_t bytes = 0;    ///< of all files
  std::int64_t entries = 0;  ///< number of files
};

}  // namespace quarry
