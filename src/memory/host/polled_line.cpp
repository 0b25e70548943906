// SPDX-License-Identifier: BSD-3-Clause
#include "memory/host/polled_line.hpp"

#include <quarry/memory/driver_resources.hpp>
#include <quarry/runtime/context.hpp>

#include "memory/line_pools.hpp"

namespace quarry::memory {

std::shared_ptr<Buffer> new_polled_line(const Stream& stream) {
  static auto& lines = *new LinePools([](const Device& device) { return mapped_resource(device); });
  return lines.new_line(stream);
}

bool may_go_on_looking(const Stream& stream) {
  const ContextFlags flags = Context(stream.device()).flags() & ContextFlags::sched_mask;
  return flags == ContextFlags::sched_auto || flags == ContextFlags::sched_spin;
}

}  // namespace quarry::memory
