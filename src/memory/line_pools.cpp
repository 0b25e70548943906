// SPDX-License-Identifier: BSD-3-Clause
#include "memory/line_pools.hpp"

#include <quarry/memory/pool.hpp>

namespace quarry::memory {

std::shared_ptr<Buffer> LinePools::new_line(const Stream& stream) {
  constexpr std::size_t bytes = 256;
  return Buffer::allocate(bytes, stream, pool_of(stream.device()));
}

const Resource& LinePools::pool_of(const Device& device) {
  const std::lock_guard lock(mutex_);
  const auto known = pools_.find(&device.backend());
  if (known != pools_.end()) return known->second;
  return pools_.emplace(&device.backend(), Pool(upstream_(device))).first->second;
}

}  // namespace quarry::memory
