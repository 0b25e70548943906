// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/grids.hpp>

#include <fmt/format.h>

namespace quarry::expr {

DeviceNDArray<std::int64_t> grid_line(const Range& range) {
  require<LogicError>(range.stop.given, "the range of a grid has no end");
  return arange<std::int64_t>(range.start.value, range.stop.value,
                              range.step.given ? range.step.value : 1);
}

void require_geometric(double start, double stop) {
  require<LogicError>(start != 0 && stop != 0, [&] {
    return fmt::format("a geometric sequence from {} to {}: it cannot have a zero", start, stop);
  });
}

}  // namespace quarry::expr
