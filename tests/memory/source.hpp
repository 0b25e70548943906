// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/buffer.hpp>
#include <quarry/memory/driver_resources.hpp>
#include <quarry/memory/pool.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gate.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::test {

/// A resource over the device's own that counts, and has no more than a capacity.
class Source {
 public:
  explicit Source(std::size_t capacity = ~std::size_t{0})
      : state_(std::make_shared<State>(capacity)) {}

  void* allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) {
    {
      const std::lock_guard lock(state_->mutex);
      if (bytes > state_->capacity || state_->in_use > state_->capacity - bytes) {
        ++state_->refusals;
        throw MemoryError("the source", {.requested = bytes});
      }
      state_->in_use += bytes;
      state_->sizes.push_back(bytes);
    }
    return state_->upstream.allocate(stream, bytes, alignment);
  }
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
    state_->upstream.deallocate(stream, memory, bytes, alignment);
    const std::lock_guard lock(state_->mutex);
    state_->in_use -= bytes;
  }
  MemorySpace space() const { return MemorySpace::device; }
  Device device() const { return state_->upstream.device(); }
  std::string name() const { return "source"; }

  std::size_t in_use() const { return state_->in_use; }
  const std::vector<std::size_t>& sizes() const { return state_->sizes; }  ///< of all it has given
  std::size_t calls() const { return state_->sizes.size(); }
  int refusals() const { return state_->refusals; }
  void set_capacity(std::size_t bytes) const { state_->capacity = bytes; }

 private:
  struct State {
    explicit State(std::size_t most) : capacity(most) {}
    std::mutex mutex;
    std::size_t capacity, in_use = 0;
    int refusals = 0;
    std::vector<std::size_t> sizes;
    Resource upstream = device_resource();
  };
  std::shared_ptr<State> state_;
};

inline std::shared_ptr<Buffer> get(const Pool& pool, std::size_t bytes, const Stream& stream) {
  return Buffer::allocate(bytes, stream, Resource(pool));
}

/// Queues a fill of the whole buffer; it must be a multiple of four bytes.
inline void fill(const Buffer& buffer, std::uint32_t value, const Stream& stream) {
  stream.state().device->fill(buffer.data(), &value, 4,
                              static_cast<std::int64_t>(buffer.bytes() / 4), stream.state().native);
}
/// What the first and the last word are after the work of the stream.
inline std::pair<std::uint32_t, std::uint32_t> ends(const Buffer& buffer, const Stream& stream) {
  std::uint32_t first = 0, last = 0;
  using enum backend::Direction;
  auto& device = *stream.state().device;
  device.copy({device_to_host, &first, buffer.data(), 4}, stream.state().native, true);
  device.copy({device_to_host, &last, buffer.data() + buffer.bytes() - 4, 4}, stream.state().native,
              true);
  return {first, last};
}

}  // namespace quarry::test
