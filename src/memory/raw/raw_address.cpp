// SPDX-License-Identifier: BSD-3-Clause
#include "memory/raw/raw_address.hpp"

#include <quarry/memory/host_memory.hpp>

#include <fmt/format.h>

#include <limits>

#include "backend/backend.hpp"
#include "memory/graph_memory.hpp"
#include "runtime/stream_state.hpp"

namespace quarry::memory {

Device device_of(std::initializer_list<const DevicePtr*> pointers) {
  for (const DevicePtr* p : pointers) {
    if (const auto buffer = p->buffer()) return buffer->device();
  }
  return {};
}

void used_on(const DevicePtr& p, const Stream& stream, const std::optional<Device>& home) {
  const auto buffer = p.buffer();
  if (buffer) buffer->used_on(stream);
  const Device user = stream.device(), owner = buffer ? buffer->device() : home.value_or(user);
  if (!(owner == user)) owner.backend().note_unordered_stream();
}
void used_on(std::span<const std::byte> host, const Stream& stream) {
  const auto buffer = detail::find_host_buffer(host.data(), host.size());
  detail::require_kept_if_captured(stream.state(), buffer);
  if (buffer) buffer->used_on(stream);
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
