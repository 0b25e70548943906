// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/buffer.hpp>

#include <algorithm>

#include "memory/pool.hpp"

namespace quarry {

Buffer::Buffer(void* memory, std::size_t bytes, const Stream& home, std::shared_ptr<void> owner)
    : data_(static_cast<std::byte*>(memory)),
      bytes_(bytes),
      home_(home),
      owner_(std::move(owner)) {}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes, const Stream& home) {
  auto buffer = std::make_shared<Buffer>(nullptr, 0, home, nullptr);
  if (bytes > 0) {
    buffer->data_ =
        static_cast<std::byte*>(memory::Pool::of(*home.state().device).allocate(bytes, home));
    buffer->bytes_ = bytes;
  }
  return buffer;
}

std::shared_ptr<Buffer> Buffer::adopt(void* memory, std::size_t bytes, const Stream& home,
                                      std::shared_ptr<void> owner) {
  require<LogicError>(owner != nullptr, "Buffer::adopt: memory without an owner");
  return std::make_shared<Buffer>(memory, bytes, home, std::move(owner));
}

Buffer::~Buffer() {
  if (data_ && !owner_) {
    memory::Pool::of(*home_.state().device).deallocate(data_, bytes_, home_, others_);
  }
}

void Buffer::remember(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (std::find(others_.begin(), others_.end(), stream) == others_.end()) {
    others_.push_back(stream);
  }
}

PoolStatistics pool_statistics(const Device& device) {
  return memory::Pool::of(device.backend()).statistics();
}
void trim_pool(const Device& device) { memory::Pool::of(device.backend()).trim(); }

}  // namespace quarry
