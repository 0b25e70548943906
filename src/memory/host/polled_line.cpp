// SPDX-License-Identifier: BSD-3-Clause
#include "memory/host/polled_line.hpp"

#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

#include <map>
#include <mutex>

#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

const Resource& lines_of(const Stream& stream) {
  static auto& mutex = *new std::mutex;
  static auto& pools = *new std::map<backend::Device*, Resource>;
  const std::lock_guard lock(mutex);
  backend::Device* const device = stream.state().device;
  const auto known = pools.find(device);
  if (known != pools.end()) return known->second;
  return pools.emplace(device, Pool(mapped_resource(stream.device()))).first->second;
}

}  // namespace

std::shared_ptr<Buffer> new_polled_line(const Stream& stream) {
  constexpr std::size_t bytes = 256;
  return Buffer::allocate(bytes, stream, lines_of(stream));
}

}  // namespace quarry::memory
