// SPDX-License-Identifier: BSD-3-Clause
#include "memory/raw_address.hpp"

#include <quarry/memory/host_memory.hpp>

#include <fmt/format.h>

#include <limits>

namespace quarry::memory {
namespace {

std::string range_text(std::uintptr_t start, std::size_t bytes) {
  return fmt::format("{} bytes at {:#x}", bytes, start);
}

void require_within(const char* call, const DevicePtr& p, std::size_t bytes, std::uintptr_t base,
                    std::size_t extent) {
  const std::uintptr_t offset = p.address() - base;
  require<LogicError>(p.address() >= base && offset <= extent && bytes <= extent - offset, [&] {
    return fmt::format("{}: {} are not within the allocation of {}", call,
                       range_text(p.address(), bytes), range_text(base, extent));
  });
}

void require_known(const char* call, const DevicePtr& p, std::size_t bytes, const Buffer& buffer,
                   const Device& device) {
  require<LogicError>(buffer.device().is_cpu() == device.is_cpu(), [&] {
    return fmt::format("{}: {} lie on {}, the call is for {}", call, range_text(p.address(), bytes),
                       to_string(buffer.device()), to_string(device));
  });
  require_within(call, p, bytes, reinterpret_cast<std::uintptr_t>(buffer.data()), buffer.bytes());
}

void require_unknown(const char* call, const DevicePtr& p, std::size_t bytes,
                     const Device& device) {
  require<LogicError>(p.address() != 0, [&] {
    return fmt::format("{}: a null device pointer, for {} bytes", call, bytes);
  });
  if (device.is_cpu()) return;
  const PointerInfo info = pointer_info(p, device);
  require<LogicError>(info.kind != PointerKind::pageable && info.device_pointer != 0, [&] {
    return fmt::format("{}: {} were given as device memory, but are {}", call,
                       range_text(p.address(), bytes), to_string(info.kind));
  });
  if (info.bytes > 0) require_within(call, p, bytes, info.base, info.bytes);
}

}  // namespace

Device device_of(std::initializer_list<const DevicePtr*> pointers) {
  for (const DevicePtr* p : pointers) {
    if (const auto buffer = p->buffer()) return buffer->device();
  }
  return {};
}

void require_device_memory(const char* call, const DevicePtr& p, std::size_t bytes,
                           const Device& device) {
  const auto buffer = p.buffer();
  if (bytes == 0) return;
  buffer ? require_known(call, p, bytes, *buffer, device) : require_unknown(call, p, bytes, device);
}

void require_host_memory(const char* call, std::span<const std::byte> memory,
                         const Device& device) {
  if (memory.empty()) return;
  require<LogicError>(memory.data() != nullptr, [&] {
    return fmt::format("{}: a null host pointer, for {} bytes", call, memory.size());
  });
  if (device.is_cpu()) return;
  const PointerInfo info = pointer_info(memory.data(), device);
  require<LogicError>(info.kind != PointerKind::device, [&] {
    const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
    return fmt::format("{}: {} were given as host memory, but are {} of {}", call,
                       range_text(start, memory.size()), to_string(info.kind),
                       to_string(info.device.value_or(device)));
  });
}

void require_apart(const char* call, const void* to, const void* from, std::size_t bytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(to), b = reinterpret_cast<std::uintptr_t>(from);
  require<AliasError>(a == b || (a < b ? b - a : a - b) >= bytes, [&] {
    return fmt::format("{}: {} and the source at {:#x} share some of their bytes", call,
                       range_text(a, bytes), b);
  });
}

void require_address(const HostRef& host) {
  require<LogicError>(host.data != nullptr, [&] {
    return fmt::format("host memory of shape {} at a null address", to_string(host.layout.shape));
  });
}

void used_on(const DevicePtr& p, const Stream& stream) {
  if (const auto buffer = p.buffer()) buffer->used_on(stream);
}
void used_on(std::span<const std::byte> host, const Stream& stream) {
  if (const auto buffer = detail::find_host_buffer(host.data(), host.size())) {
    buffer->used_on(stream);
  }
}

namespace {

constexpr std::size_t largest_size = std::numeric_limits<std::int64_t>::max();

std::size_t require_size(bool overflows, std::size_t result, std::size_t a, char sign,
                         std::size_t b) {
  require<SizeOverflow>(!overflows && result <= largest_size, [&] {
    return fmt::format("{} {} {} bytes or rows do not fit in 63 bits", a, sign, b);
  });
  return result;
}

}  // namespace

std::size_t size_sum(std::size_t a, std::size_t b) {
  std::size_t result = 0;
  const bool overflows = __builtin_add_overflow(a, b, &result);
  return require_size(overflows, result, a, '+', b);
}
std::size_t size_product(std::size_t a, std::size_t b) {
  std::size_t result = 0;
  const bool overflows = __builtin_mul_overflow(a, b, &result);
  return require_size(overflows, result, a, '*', b);
}

}  // namespace quarry::memory
