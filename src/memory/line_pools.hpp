// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>
#include <quarry/runtime/stream.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace quarry::memory {

/// Lines of 256 bytes that the library uses itself, for each device from a pool over memory of one
/// kind. Lives as long as the process. Thread-safe.
class LinePools {
 public:
  using Upstream = Resource (*)(const Device& device);
  explicit LinePools(Upstream upstream) : upstream_(upstream) {}

  /// For work in `stream`, freed in its order.
  std::shared_ptr<Buffer> new_line(const Stream& stream);

 private:
  const Resource& pool_of(const Device& device);

  Upstream upstream_;
  std::mutex mutex_;
  std::map<backend::Device*, Resource> pools_;
};

}  // namespace quarry::memory
