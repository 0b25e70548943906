// SPDX-License-Identifier: BSD-3-Clause
#include "memory/address_check.hpp"

#include <fmt/format.h>

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
  require_within(call, p, bytes, reinterpret_cast<std::uintptr_t>(buffer.address()),
                 buffer.bytes());
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

}  // namespace quarry::memory
