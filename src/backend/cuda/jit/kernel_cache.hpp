// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "backend/backend.hpp"
#include "backend/cuda/jit/cache_directory.hpp"
#include "backend/cuda/jit/jit.hpp"

namespace quarry::backend::cuda {

/// Compiled kernels on disk, shared by processes. Nothing throws: what cannot be read is
/// compiled again, what cannot be written is not kept. Thread-safe.
class KernelCache {
 public:
  struct Options {
    std::string directory;                            ///< absolute; empty for no cache
    std::int64_t capacity = std::int64_t{256} << 20;  ///< bytes; evicts the least recently used
    std::string why;  ///< why there is no directory, if the user has not disabled the cache
  };
  /// QUARRY_CACHE_DIR, else quarry in $XDG_CACHE_HOME, else in $HOME/.cache; QUARRY_CACHE_SIZE in
  /// bytes; QUARRY_DISABLE_CACHE=1 for none. A set-user-id program has none.
  static Options options_from_environment();

  /// Writes one line to stderr when the directory cannot be used.
  explicit KernelCache(const Options& options);

  std::optional<Binary> load(const std::string& key) const;
  void store(const std::string& key, const Binary& binary);
  void remove(const std::string& key) const;
  KernelCacheInfo info() const;

 private:
  void warn(const std::string& why);
  void evict_when_full(std::int64_t added);

  Options options_;
  CacheDirectory directory_;
  std::mutex mutex_;
  bool has_warned_ = false;
  std::int64_t bytes_ = -1;  // on disk as far as this process knows; -1 before the first listing
};

/// The cache of this process.
KernelCache& kernel_cache();
/// One in this directory, with the options of the process's otherwise; lives to the process's end.
KernelCache& kernel_cache_in(const std::string& directory);

}  // namespace quarry::backend::cuda
