// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <quarry/base/error.hpp>

#include "backend/cpu/copy.hpp"

namespace quarry::backend::cpu_backend {
namespace {

void require_fit(const BlockSide& side, const BlockCopy& copy) {
  require<LogicError>(!side.device || side.device->info().is_cpu, [&] {
    return fmt::format("a block copy of the CPU device has a side on GPU {}",
                       side.device->info().id);
  });
  const bool has_rows = copy.height > 1 || copy.depth > 1 || side.y > 0 || side.z > 0;
  require<LogicError>(!has_rows || side.pitch >= side.x_in_bytes + copy.width_in_bytes, [&] {
    return fmt::format("rows of {} bytes from byte {} on do not fit a pitch of {}",
                       copy.width_in_bytes, side.x_in_bytes, side.pitch);
  });
  const bool has_planes = copy.depth > 1 || side.z > 0;
  require<LogicError>(!has_planes || side.height >= side.y + copy.height, [&] {
    return fmt::format("planes of {} rows from row {} on do not fit a height of {}", copy.height,
                       side.y, side.height);
  });
}

std::size_t offset(const BlockSide& side) {
  return (side.z * side.height + side.y) * side.pitch + side.x_in_bytes;
}

bool is_on_device(const BlockSide& side) {
  return side.kind == SideKind::device || side.kind == SideKind::array;
}

/// Only a copy with a host side waits; unified memory may be host memory.
Direction direction(const BlockCopy& copy) {
  if (!is_on_device(copy.to)) return Direction::device_to_host;
  return is_on_device(copy.from) ? Direction::device_to_device : Direction::host_to_device;
}

}  // namespace

void copy_block(Streams& streams, const BlockCopy& copy, Stream stream, bool blocking) {
  if (copy.width_in_bytes == 0 || copy.height == 0 || copy.depth == 0) return;
  require_fit(copy.to, copy);
  require_fit(copy.from, copy);
  const Copy plain{.direction = direction(copy),
                   .to = static_cast<std::byte*>(copy.to.address) + offset(copy.to),
                   .from = static_cast<const std::byte*>(copy.from.address) + offset(copy.from),
                   .bytes = copy.width_in_bytes,
                   .rows = copy.height,
                   .to_pitch = copy.to.pitch,
                   .from_pitch = copy.from.pitch,
                   .slices = copy.depth,
                   .to_slice = copy.to.pitch * copy.to.height,
                   .from_slice = copy.from.pitch * copy.from.height};
  copy_in_order(streams, plain, stream, blocking || copy.unaligned);
}

}  // namespace quarry::backend::cpu_backend
