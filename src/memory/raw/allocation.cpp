// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/driver_resources.hpp>

#include <fmt/format.h>

#include <mutex>

#include "backend/backend.hpp"
#include "memory/raw/raw_address.hpp"
#include "memory/resource/deferred.hpp"
#include "memory/resource/relief.hpp"
#include "memory/resource/report.hpp"

namespace quarry {

MemoryInfo mem_get_info(const Device& device) { return device.memory_info(); }

struct DeviceAllocation::Shared {
  std::shared_ptr<Buffer> get() const {
    const std::lock_guard lock(mutex);
    require<LogicError>(buffer != nullptr, "the device allocation has been freed");
    return buffer;
  }

  mutable std::mutex mutex;
  std::shared_ptr<Buffer> buffer;
};

DeviceAllocation::DeviceAllocation(std::shared_ptr<Buffer> buffer)
    : shared_(std::make_shared<Shared>()), bytes_(buffer->bytes()) {
  shared_->buffer = std::move(buffer);
}

std::shared_ptr<Buffer> DeviceAllocation::buffer() const {
  require<LogicError>(shared_ != nullptr, "a device allocation without memory");
  return shared_->get();
}

std::byte* DeviceAllocation::device_pointer() const {
  if (!shared_) return nullptr;
  std::byte* const start = shared_->get()->data();
  return start ? start + offset_ : nullptr;
}

DeviceAllocation DeviceAllocation::view(std::size_t start, std::size_t stop) const {
  if (stop == to_end) stop = bytes_;
  require<IndexError>(start <= stop && stop <= bytes_, [&] {
    return fmt::format("bytes [{}, {}) of a device allocation of {} bytes", start, stop, bytes_);
  });
  buffer();
  DeviceAllocation part = *this;
  part.offset_ += start;
  part.bytes_ = stop - start;
  return part;
}

std::shared_ptr<Buffer> DeviceAllocation::as_buffer(std::size_t bytes, std::size_t offset) const {
  require<IndexError>(offset <= bytes_ && bytes <= bytes_ - offset, [&] {
    return fmt::format("{} bytes from byte {} of a device allocation of {} bytes", bytes, offset,
                       bytes_);
  });
  auto whole = buffer();
  const Stream home = whole->stream();
  const MemorySpace space = whole->space();
  return Buffer::adopt(device_pointer() + offset, bytes, home, std::move(whole), space);
}

void DeviceAllocation::free() {
  const auto whole = buffer();
  require<LogicError>(offset_ == 0 && bytes_ == whole->bytes(), [&] {
    return fmt::format("free: bytes [{}, {}) are a part of a device allocation of {} bytes",
                       offset_, offset_ + bytes_, whole->bytes());
  });
  const std::lock_guard lock(shared_->mutex);
  require<LogicError>(shared_->buffer != nullptr, "the device allocation has been freed");
  shared_->buffer.reset();
}

namespace {

DeviceAllocation allocate_pitched(const Device& device, std::size_t width, std::size_t height,
                                  unsigned access_size, std::size_t& pitch) {
  backend::Device& backend = device.backend();
  void* const memory = memory::with_relief(backend, width * height, [&] {
    const auto got = backend.allocate_pitched(width, height, access_size);
    pitch = got.pitch;
    return got.memory;
  });
  if (!memory) {
    throw MemoryError(fmt::format("{} rows of {} bytes on {}", height, width, to_string(device)),
                      memory::with_device({.requested = width * height}, backend));
  }
  const std::size_t bytes = pitch * height;
  auto release = [device, bytes](void* freed) {
    if (device.is_cpu()) device.backend().drain();  // a GPU's driver waits by itself
    memory::free_device_memory(device.backend(), freed, bytes);
  };
  std::shared_ptr<void> owner(memory, release);
  return DeviceAllocation(Buffer::adopt(memory, bytes, default_stream(device), std::move(owner)));
}

}  // namespace

DeviceAllocation mem_alloc(std::size_t bytes, const Device& device) {
  const Stream home = default_stream(device);
  return DeviceAllocation(Buffer::allocate(bytes, home, device_resource(device)));
}

PitchedAllocation mem_alloc_pitch(std::size_t width, std::size_t height, unsigned access_size,
                                  const Device& device) {
  require<LogicError>(access_size == 4 || access_size == 8 || access_size == 16, [&] {
    return fmt::format("mem_alloc_pitch: an access size of {}, not 4, 8 or 16", access_size);
  });
  memory::size_product(width, height);
  PitchedAllocation pitched;
  if (width == 0 || height == 0) {
    pitched.allocation = mem_alloc(0, device);
    return pitched;
  }
  pitched.allocation = allocate_pitched(device, width, height, access_size, pitched.pitch);
  return pitched;
}

AddressRange mem_get_address_range(const DevicePtr& p) {
  if (const auto buffer = p.buffer()) return {DevicePtr(buffer->data()), buffer->bytes()};
  const PointerInfo info = pointer_info(p);
  require<LogicError>(info.base != 0, [&] {
    return fmt::format("mem_get_address_range: no allocation is known at {} ({})", to_string(p),
                       to_string(info.kind));
  });
  return {DevicePtr(info.base), info.bytes};
}

}  // namespace quarry
