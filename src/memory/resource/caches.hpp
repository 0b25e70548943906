// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "backend/backend.hpp"

/// All caches of unused memory, so that they can be freed: when an allocation fails, by close(),
/// and before a device is reset.
namespace quarry::memory {

class Cache {
 public:
  virtual ~Cache() = default;
  /// Whose memory it is.
  virtual backend::Device& owner() const noexcept = 0;
  /// Frees the cached memory, after the work of the streams that have used it.
  virtual void give_back() = 0;
  /// Bytes allocated to arrays, if it counts them.
  virtual std::size_t bytes_in_use() { return 0; }
  /// Asks the program to free something (Pool::on_pressure); whether that is worth an attempt.
  virtual bool call_back(std::size_t /*bytes*/, int /*attempt*/) { return false; }
};

/// Adds a cache with a lifetime, and one that lives as long as the process.
void add_cache(const std::weak_ptr<Cache>& cache);
void add_cache(Cache& immortal);
/// The same for a cache of any device, without an object.
using Trim = void (*)(backend::Device& device);
void add_trim(Trim trim);

/// The caches of the device, latest first: they may be over earlier ones.
std::vector<std::shared_ptr<Cache>> caches_of(const backend::Device& device);
/// Frees all of them, and the driver's pool; scopes of defer_cleanup() may defer the
/// frees. If one throws the others are still freed; the first error is thrown at the
/// end.
void give_back_all(backend::Device& device);

}  // namespace quarry::memory
