// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/buffer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>

#include "backend/annotation.hpp"
#include "base/forked.hpp"
#include "memory/address_check.hpp"
#include "memory/current_resource.hpp"
#include "memory/granted.hpp"
#include "memory/graph_memory.hpp"
#include "memory/resource/stream_order.hpp"
#include "runtime/callback.hpp"
#include "runtime/kept_owners.hpp"
#include "runtime/stream_lifetime.hpp"

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
  auto buffer = allocate(bytes, home, *current);
  buffer->is_private_ = current.is_standard() && buffer->space_ == MemorySpace::device;
  if (!current.is_standard() && bytes > 0) {
    try {
      buffer->owner_ = memory::note_granted(buffer->data_, *current);
    } catch (const LogicError&) {
      buffer->resource_.reset();  // not to be given back: somebody has it
      throw;
    }
  }
  return buffer;
}

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes, const Stream& home,
                                         const Resource& resource) {
  require_not_forked();
  require<LogicError>(&resource.device().backend() == home.state().device, [&] {
    return fmt::format("the resource {} of {} cannot serve a stream of {}", resource.name(),
                       to_string(resource.device()), to_string(home.device()));
  });
  auto buffer = std::make_shared<Buffer>(nullptr, 0, home, nullptr, resource.space());
  if (bytes == 0) return buffer;
  const backend::OperationRange range(
      [&] { return fmt::format("allocate {} bytes from {}", bytes, resource.name()); }, bytes);
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
  require<LogicError>(bytes <= ~reinterpret_cast<std::uintptr_t>(memory), [&] {
    return fmt::format("Buffer::adopt: {} bytes at {} end beyond the last address", bytes, memory);
  });
  if (is_device_accessible(space) || memory == nullptr) {
    memory::require_device_memory("Buffer::adopt", DevicePtr(memory), bytes, home.device());
  }
  return std::make_shared<Buffer>(memory, bytes, home, std::move(owner), space);
}

Buffer::~Buffer() {
  if (!holds_memory() || is_forked()) return;
  if (detail::is_capturing()) [[unlikely]]
    keep_for_captured_users();
  if (kept_) [[unlikely]]
    hand_over();
  else if (detail::is_in_callback()) [[unlikely]]
    give_back_later();
  else
    give_back();
}

void Buffer::give_back() noexcept {
  if (!resource_) return detail::keep_until_done(std::move(owner_), home_, last_streams());
  const backend::OperationRange range(
      [&] { return fmt::format("free {} bytes to {}", bytes_, resource_->name()); }, bytes_);
  owner_.reset();  // from here on the memory may be handed out again
  if (others_.empty()) [[likely]] {
    resource_->deallocate(home_, data_, bytes_);
  } else {
    resource_->deallocate(home_, last_streams(), data_, bytes_);
  }
}

void Buffer::give_back_later() noexcept {
  detail::call_later([this] {
    return [resource = resource_, home = home_, others = other_streams(), owner = owner_,
            memory = data_, bytes = bytes_]() mutable {
      if (!resource) return detail::keep_until_done(std::move(owner), home, others);
      owner.reset();
      resource->deallocate(home, others, memory, bytes);
    };
  });
}

/// The memory of a buffer that captured work uses ends with the last of its graphs.
void Buffer::keep_for_graph(const detail::StreamState& stream) {
  const std::lock_guard lock(mutex_);
  if (!kept_) kept_ = std::make_shared<Buffer>(nullptr, 0, home_, nullptr, space_);
  detail::keep_for_graph(stream, kept_);
}

/// What a captured stream has used before cannot be freed behind its work: no event in the stream
/// would tell when that is done.
void Buffer::keep_for_captured_users() noexcept {
  try {
    if (home_.state().is_captured()) keep_for_graph(home_.state());
    for (const User& user : others_) {
      if (user->is_captured()) keep_for_graph(*user);
    }
  } catch (const std::bad_alloc&) {  // then the free asks the driver, which ends the capture
  }
}

void Buffer::hand_over() noexcept {
  kept_->data_ = data_;
  kept_->bytes_ = bytes_;
  kept_->resource_.swap(resource_);
  kept_->owner_.swap(owner_);
  kept_->others_.swap(others_);
}

bool Buffer::shrink(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!resource_ || owner_ || kept_ || !others_.empty()) return false;
  if (!resource_->shrink(home_, data_, bytes_, bytes)) return false;
  bytes_ = bytes;
  return true;
}

std::byte* Buffer::host_data() const {
  return is_host_accessible(space_) || home_.state().device->info().is_cpu ? data_ : nullptr;
}

void Buffer::remember(const Stream& stream) {
  const detail::StreamState& state = stream.state();
  if (!state.is_of_this_thread()) return remember(detail::per_thread_stream(*state.device));
  if (state.is_captured()) [[unlikely]]
    keep_for_graph(state);
  if (stream == home_) return;
  const std::lock_guard lock(mutex_);
  const auto at = std::lower_bound(
      others_.begin(), others_.end(), &state,
      [](const User& user, const detail::StreamState* s) { return std::less<>()(user.get(), s); });
  if (at == others_.end() || at->get() != &state) add(at, stream.state().shared_from_this());
}

/// With the lock. As many streams as have ended since the list grew last are dropped before it
/// grows, so that a call costs the same however many have come and gone.
void Buffer::add(std::vector<User>::iterator at, User user) {
  if (others_.size() == others_.capacity()) {
    std::erase_if(others_, [](const User& u) { return u->has_ended(); });
    if (2 * others_.size() >= others_.capacity()) {
      others_.reserve(std::max<std::size_t>(4, 2 * others_.capacity()));
    }
    at = std::lower_bound(others_.begin(), others_.end(), user, std::less<>());
  }
  others_.insert(at, std::move(user));
}

std::vector<Stream> Buffer::other_streams() {
  const std::lock_guard lock(mutex_);
  std::vector<Stream> streams;
  streams.reserve(others_.size());
  for (const User& user : others_) {
    if (auto stream = detail::handle_of(user)) streams.push_back(std::move(*stream));
  }
  return streams;
}

std::vector<Stream> Buffer::last_streams() noexcept {
  try {
    return other_streams();
  } catch (const std::bad_alloc&) {
    for (const User& user : others_) user->device->drain();
    return {};
  }
}

}  // namespace quarry
