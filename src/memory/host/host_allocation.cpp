// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/host_allocation.hpp>

#include <fmt/format.h>

#include "backend/backend.hpp"

namespace quarry {
namespace {

// the bits of CU_MEMHOSTALLOC_*
constexpr unsigned portable = 1, mapped = 2, write_combined = 4;

bool is_page_locked(MemorySpace space) {
  return space == MemorySpace::pinned || space == MemorySpace::mapped;
}

}  // namespace

const std::shared_ptr<Buffer>& HostPointer::buffer() const {
  require<LogicError>(buffer_ != nullptr, "the host allocation has been freed or moved from");
  return buffer_;
}

std::byte* HostPointer::get_device_pointer() const {
  if (buffer()->space() == MemorySpace::managed || size() == 0) return data_;
  return static_cast<std::byte*>(device_.backend().device_pointer(data_));
}

HostMemoryOptions HostPointer::get_flags() const {
  require<LogicError>(is_page_locked(buffer()->space()) && size() > 0,
                      "get_flags: no memory that the driver has page-locked");
  const unsigned flags = device_.backend().host_flags(data_);
  return {.portable = (flags & portable) != 0,
          .write_combined = (flags & write_combined) != 0,
          .mapped = (flags & mapped) != 0};
}

void HostPointer::release() {
  buffer();
  buffer_.reset();
}

ManagedAllocation::ManagedAllocation(std::size_t bytes, Attach how, const Device& device)
    : HostPointer(
          [&] {
            require<LogicError>(how != Attach::single,
                                "ManagedAllocation: memory is attached to one stream by attach()");
            return detail::managed_memory(bytes, default_stream(device), how == Attach::global);
          }(),
          bytes, device) {}

void ManagedAllocation::attach(Attach how, const Stream& stream) const {
  detail::attach_managed(*buffer(), how, stream);
}
void ManagedAllocation::prefetch(const Device& to, const Stream& stream) const {
  detail::prefetch_managed(*buffer(), bytes(), to, stream);
}
void ManagedAllocation::advise(Advice advice, const Device& about) const {
  detail::advise_managed(*buffer(), bytes(), advice, about);
}

AlignedHostAllocation::AlignedHostAllocation(std::size_t bytes, std::size_t alignment)
    : memory_(nullptr, Release{alignment}), bytes_(bytes), alignment_(alignment) {
  detail::require_alignment(alignment);
  const std::size_t taken = std::max<std::size_t>(bytes, 1);
  memory_.reset(static_cast<std::byte*>(detail::allocate_aligned(taken, alignment)));
}

std::byte* AlignedHostAllocation::data() const {
  require<LogicError>(memory_ != nullptr, "the host allocation has been freed or moved from");
  return memory_.get();
}

void AlignedHostAllocation::free() {
  data();
  memory_.reset();
}

HostPointer detail::base_of(void* data, std::size_t bytes, const Device& device) {
  auto buffer = find_host_buffer(data, bytes);
  require<LogicError>(buffer != nullptr, [&] {
    return fmt::format("base_of: {} bytes at {} are in no memory that the library has page-locked",
                       bytes, data);
  });
  const Device of = buffer->device().is_cpu() ? device : buffer->device();
  return HostPointer({std::move(buffer), static_cast<std::byte*>(data)}, bytes, of);
}

}  // namespace quarry
