// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/buffer.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "memory/current_resource.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

/// Kernels take whole cache lines for granted, and user resources are checked in every build.
void require_sound(void* memory, std::size_t bytes, const Resource& resource, const Stream& home) {
  require<MemoryError>(memory != nullptr, [&] {
    return fmt::format("the resource {} returned no memory for {} bytes", resource.name(), bytes);
  });
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (address % Resource::default_alignment == 0) return;
  resource.deallocate(home, memory, bytes);
  throw LogicError(fmt::format("the resource {} returned {}, which is not aligned to {} bytes",
                               resource.name(), memory, Resource::default_alignment));
}

}  // namespace

Buffer::Buffer(void* memory, std::size_t bytes, const Stream& home, std::shared_ptr<void> owner,
               MemorySpace space)
    : data_(static_cast<std::byte*>(memory)),
      bytes_(bytes),
      space_(space),
      is_per_thread_(home.state().kind == detail::StreamKind::per_thread),
      home_(home),
      owner_(std::move(owner)) {}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes, const Stream& home) {
  const CurrentResource current(*home.state().device);
  return allocate(bytes, home, *current);
}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes, const Stream& home,
                                         const Resource& resource) {
  require<LogicError>(&resource.device().backend() == home.state().device, [&] {
    return fmt::format("the resource {} of {} cannot serve a stream of {}", resource.name(),
                       to_string(resource.device()), to_string(home.device()));
  });
  auto buffer = std::make_shared<Buffer>(nullptr, 0, home, nullptr, resource.space());
  if (bytes == 0) return buffer;
  void* const memory = resource.allocate(home, bytes);
  require_sound(memory, bytes, resource, home);
  buffer->resource_.emplace(resource);
  buffer->data_ = static_cast<std::byte*>(memory);
  buffer->bytes_ = bytes;
  return buffer;
}

std::shared_ptr<Buffer> Buffer::adopt(void* memory, std::size_t bytes, const Stream& home,
                                      std::shared_ptr<void> owner, MemorySpace space) {
  require<LogicError>(owner != nullptr, "Buffer::adopt: memory without an owner");
  return std::make_shared<Buffer>(memory, bytes, home, std::move(owner), space);
}

Buffer::~Buffer() {
  if (resource_) resource_->deallocate(home_, others_, data_, bytes_);
}

std::byte* Buffer::host_data() const {
  return is_host_accessible(space_) || home_.state().device->info().is_cpu ? data_ : nullptr;
}

void Buffer::remember(const Stream& stream) {
  const detail::StreamState& state = stream.state();
  if (!state.is_of_this_thread()) return remember(detail::per_thread_stream(*state.device));
  if (stream == home_) return;
  const std::lock_guard lock(mutex_);
  if (std::find(others_.begin(), others_.end(), stream) == others_.end()) {
    others_.push_back(stream);
  }
}

}  // namespace quarry
