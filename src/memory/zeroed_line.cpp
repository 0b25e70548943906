// SPDX-License-Identifier: BSD-3-Clause
#include "memory/zeroed_line.hpp"

#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

#include <map>
#include <memory>
#include <mutex>

#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

/// Device memory that is 0 when it is allocated.
class ZeroedResource {
 public:
  explicit ZeroedResource(const Device& device) : memory_(device_resource(device)) {}

  /// In a stream of its own: those of the program may wait for what it does next.
  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) {
    backend::Device& on = device().backend();
    void* const memory = memory_.allocate(stream, bytes, alignment);
    backend::Stream own = nullptr;
    try {
      own = on.create_stream(backend::StreamOrder::behind_events);
      constexpr unsigned char zero = 0;
      on.fill(memory, &zero, 1, static_cast<std::int64_t>(bytes), own);
      on.synchronize(own);
    } catch (...) {
      if (own) on.destroy_stream(own);
      memory_.deallocate(stream, memory, bytes, alignment);
      throw;
    }
    on.destroy_stream(own);
    return memory;
  }
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
    memory_.deallocate(stream, memory, bytes, alignment);
  }
  MemorySpace space() const { return memory_.space(); }
  Device device() const { return memory_.device(); }

 private:
  Resource memory_;
};

const Resource& lines_of(const Stream& stream) {
  static auto& mutex = *new std::mutex;
  static auto& pools = *new std::map<backend::Device*, Resource>;
  const std::lock_guard lock(mutex);
  backend::Device* const device = stream.state().device;
  const auto known = pools.find(device);
  if (known != pools.end()) return known->second;
  return pools.emplace(device, Pool(Resource(ZeroedResource(stream.device())))).first->second;
}

}  // namespace

std::shared_ptr<Buffer> new_zeroed_line(const Stream& stream) {
  constexpr std::size_t bytes = 256;
  return Buffer::allocate(bytes, stream, lines_of(stream));
}

}  // namespace quarry::memory
