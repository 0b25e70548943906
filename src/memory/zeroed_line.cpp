// SPDX-License-Identifier: BSD-3-Clause
#include "memory/zeroed_line.hpp"

#include "memory/line_pools.hpp"
#include "memory/zeroed_resource.hpp"

namespace quarry::memory {

std::shared_ptr<Buffer> new_zeroed_line(const Stream& stream) {
  static auto& lines = *new LinePools(zeroed_resource);
  return lines.new_line(stream);
}

}  // namespace quarry::memory
