// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "backend/backend.hpp"

/// Everything that keeps memory which nobody uses, so that it can be given back: when an allocation
/// finds none, by close(), and before a device is reset.
namespace quarry::memory {

class Cache {
 public:
  virtual ~Cache() = default;
  /// Whose memory it is.
  virtual backend::Device& owner() const noexcept = 0;
  /// Gives back what is kept, after the work of the streams that have used it.
  virtual void give_back() = 0;
  /// Bytes handed out to arrays, as far as it counts them.
  virtual std::size_t bytes_in_use() { return 0; }
  /// Asks the program to free something (Pool::on_pressure); whether that is worth an attempt.
  virtual bool call_back(std::size_t /*bytes*/, int /*attempt*/) { return false; }
};

/// A cache that ends some day, and one that lives as long as the process.
void add_cache(const std::weak_ptr<Cache>& cache);
void add_cache(Cache& immortal);
/// The same for a cache of any device, without an object.
using Trim = void (*)(backend::Device& device);
void add_trim(Trim trim);

/// The caches of the device, those that were made last first: they may stand on earlier ones.
std::vector<std::shared_ptr<Cache>> caches_of(const backend::Device& device);
/// All of them give back what they keep, and so does the driver's pool; scopes of defer_cleanup()
/// may put off the frees. All are asked, also when one throws; the first error is thrown at the
/// end.
void give_back_all(backend::Device& device);

}  // namespace quarry::memory
