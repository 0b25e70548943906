// SPDX-License-Identifier: BSD-3-Clause
#include "memory/adaptors/guarded_block.hpp"

#include <algorithm>
#include <cstring>

#include "memory/resource/stream_order.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {
namespace {

/// Bytes that are copied to the host at a time.
constexpr std::size_t chunk = std::size_t{1} << 20;

void fill(const GuardedBlock& block, std::byte* to, unsigned char value, std::size_t bytes,
          bool by_host) {
  if (bytes == 0) return;
  if (by_host) {
    std::memset(to, value, bytes);
  } else {
    const auto& stream = block.stream.state();
    stream.device->fill(to, &value, 1, static_cast<std::int64_t>(bytes), stream.native);
  }
}

/// The offset of the first byte of [from, from + bytes) that is not `value`.
std::optional<std::size_t> find_other(const std::byte* from, unsigned char value,
                                      std::size_t bytes) {
  const auto* const end = from + bytes;
  const auto* const at =
      std::find_if(from, end, [&](std::byte b) { return b != std::byte{value}; });
  return at == end ? std::nullopt : std::optional(static_cast<std::size_t>(at - from));
}

std::optional<std::size_t> find_other(const GuardedBlock& block, const std::byte* from,
                                      unsigned char value, std::size_t bytes, bool by_host) {
  if (by_host) return find_other(from, value, bytes);
  const auto& stream = block.stream.state();
  std::vector<std::byte> copy(std::min(bytes, chunk));
  for (std::size_t done = 0; done < bytes; done += copy.size()) {
    const std::size_t n = std::min(copy.size(), bytes - done);
    stream.device->copy({backend::Direction::device_to_host, copy.data(), from + done, n},
                        stream.native, true);
    if (const auto at = find_other(copy.data(), value, n)) return done + *at;
  }
  return std::nullopt;
}

MemoryFault fault_at(const GuardedBlock& block, MemoryFaultKind kind, const std::byte* at) {
  return {kind, block.body, block.bytes, block.number, at - block.body};
}

}  // namespace

bool is_touched_by_host(const Resource& resource) {
  const MemorySpace space = resource.space();
  return resource.device().is_cpu() || (is_host_accessible(space) && space != MemorySpace::managed);
}

void arm(const GuardedBlock& block, bool by_host) {
  if (by_host) wait_for(block.stream);
  fill(block, block.body - block.before, RedZone::zone_pattern, block.before, by_host);
  fill(block, block.body, RedZone::poison, block.bytes, by_host);
  fill(block, block.body + block.bytes, RedZone::zone_pattern, block.zone, by_host);
}

void poison_body(const GuardedBlock& block, bool by_host) {
  fill(block, block.body, RedZone::poison, block.bytes, by_host);
}

std::optional<MemoryFault> find_overwritten_zone(const GuardedBlock& block, bool by_host) {
  const std::byte* const front = block.body - block.before;
  if (const auto at = find_other(block, front, RedZone::zone_pattern, block.before, by_host)) {
    return fault_at(block, MemoryFaultKind::overwritten_before, front + *at);
  }
  const std::byte* const back = block.body + block.bytes;
  if (const auto at = find_other(block, back, RedZone::zone_pattern, block.zone, by_host)) {
    return fault_at(block, MemoryFaultKind::overwritten_after, back + *at);
  }
  return std::nullopt;
}

std::optional<MemoryFault> find_late_write(const GuardedBlock& block, bool by_host) {
  const auto at = find_other(block, block.body, RedZone::poison, block.bytes, by_host);
  if (!at) return std::nullopt;
  return fault_at(block, MemoryFaultKind::used_after_free, block.body + *at);
}

}  // namespace quarry::memory
