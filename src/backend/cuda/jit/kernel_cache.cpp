// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/kernel_cache.hpp"
#include "base/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "backend/cuda/jit/digest.hpp"
#include "backend/cuda/jit/kernel_file.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::string_view suffix = ".kernel";

std::string name_of(const std::string& key) {
  return Digest().add(key).hex() + std::string(suffix);
}

/// A relative XDG_CACHE_HOME or HOME counts as not set.
std::string directory_from_environment() {
  if (const auto own = environment::text("QUARRY_CACHE_DIR")) return *own;
  const auto cache = environment::text("XDG_CACHE_HOME");
  if (cache && cache->starts_with('/')) return *cache + "/quarry";
  const auto home = environment::text("HOME");
  return home && home->starts_with('/') ? *home + "/.cache/quarry" : "";
}

bool is_older(const CacheDirectory::File& a, const CacheDirectory::File& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

std::vector<CacheDirectory::File> kernels_in(const CacheDirectory& directory) {
  auto files = directory.files();
  std::erase_if(files, [](const auto& file) { return !file.name.ends_with(suffix); });
  return files;
}

std::int64_t total(const std::vector<CacheDirectory::File>& files) {
  std::int64_t bytes = 0;
  for (const auto& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace

KernelCache::Options KernelCache::options_from_environment() {
  Options options;
  options.capacity = environment::cache_bytes().value_or(options.capacity);
  if (!environment::has_disk_cache()) return options;
  options.directory = directory_from_environment();
  if (options.directory.empty())
    options.why = "no directory is known: HOME is not an absolute path";
  return options;
}

KernelCache::KernelCache(const Options& options)
    : options_(options), directory_(options.directory) {
  if (!options_.directory.empty()) options_.why = directory_.why();
  if (!options_.why.empty()) {
    warn(options_.why);
    options_.directory.clear();
  }
}

void KernelCache::warn(const std::string& why) {
  if (std::exchange(has_warned_, true)) return;
  std::fputs(fmt::format("quarry: compiled kernels are not kept on disk: {}\n", why).c_str(),
             stderr);
}

std::optional<Binary> KernelCache::load(const std::string& key) const {
  const std::string name = name_of(key);
  const std::optional<std::string> bytes = directory_.read(name, max_kernel_file);
  if (!bytes) return std::nullopt;
  DecodedKernel decoded = decode_kernel(*bytes, key);
  if (!decoded.is_sound) directory_.remove(name);
  return std::move(decoded.binary);
}

void KernelCache::store(const std::string& key, const Binary& binary) {
  if (options_.directory.empty()) return;
  const std::string bytes = encode_kernel(key, binary);
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (bytes.size() > max_kernel_file || size > options_.capacity) return;
  const int error = directory_.write(name_of(key), bytes);
  const std::lock_guard lock(mutex_);
  if (error != 0) return warn(fmt::format("{}: {}", options_.directory, std::strerror(error)));
  evict_when_full(size);
}

void KernelCache::remove(const std::string& key) const { directory_.remove(name_of(key)); }

/// Lists the directory only if this process has not done so yet, or has filled it; then frees a
/// quarter of the capacity, so that the next listing is far away.
void KernelCache::evict_when_full(std::int64_t added) {
  if (bytes_ >= 0) bytes_ += added;
  if (bytes_ >= 0 && bytes_ <= options_.capacity) return;
  auto files = kernels_in(directory_);
  bytes_ = total(files);
  if (bytes_ <= options_.capacity) return;
  std::ranges::sort(files, is_older);
  for (const auto& file : files) {
    if (bytes_ <= options_.capacity / 4 * 3) break;
    directory_.remove(file.name);
    bytes_ -= file.bytes;
  }
}

KernelCacheInfo KernelCache::info() const {
  const auto files = kernels_in(directory_);
  return {options_.directory, total(files), static_cast<std::int64_t>(files.size())};
}

KernelCache& kernel_cache() {
  static auto& cache = *new KernelCache(KernelCache::options_from_environment());
  return cache;
}

KernelCache& kernel_cache_in(const std::string& directory) {
  static auto& mutex = *new std::mutex;
  static auto& caches = *new std::map<std::string, std::unique_ptr<KernelCache>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<KernelCache>& cache = caches[directory];
  if (!cache) {
    KernelCache::Options options = KernelCache::options_from_environment();
    options.directory = directory, options.why.clear();
    cache = std::make_unique<KernelCache>(options);
  }
  return *cache;
}

}  // namespace quarry::backend::cuda

namespace quarry::backend {

KernelCacheInfo kernel_cache_info() { return cuda::kernel_cache().info(); }

}  // namespace quarry::backend
