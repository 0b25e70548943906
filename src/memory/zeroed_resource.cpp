// SPDX-License-Identifier: BSD-3-Clause
#include "memory/zeroed_resource.hpp"

#include <quarry/memory/driver_resources.hpp>

#include "runtime/stream_lifetime.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

class ZeroedResource {
 public:
  explicit ZeroedResource(const Device& device) : memory_(device_resource(device)) {}

  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) {
    void* const memory = memory_.allocate(stream, bytes, alignment);
    try {
      clear(memory, bytes);
    } catch (...) {
      memory_.deallocate(stream, memory, bytes, alignment);
      throw;
    }
    return memory;
  }
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
    memory_.deallocate(stream, memory, bytes, alignment);
  }
  MemorySpace space() const { return memory_.space(); }
  Device device() const { return memory_.device(); }

 private:
  /// In a stream of its own: those of the program may wait for what it does next.
  void clear(void* memory, std::size_t bytes) const {
    constexpr unsigned char zero = 0;
    backend::Device& on = device().backend();
    const Stream own = detail::created_stream(on, backend::StreamOrder::behind_events);
    on.fill(memory, &zero, 1, static_cast<std::int64_t>(bytes), own.state().native);
    on.synchronize(own.state().native);
  }

  Resource memory_;
};

}  // namespace

Resource zeroed_resource(const Device& device) { return Resource(ZeroedResource(device)); }

}  // namespace quarry::memory
