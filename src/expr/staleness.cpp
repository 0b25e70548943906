// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/expr/staleness.hpp>

#include <fmt/format.h>

#include "memory/write_log.hpp"

namespace quarry::expr {

void require_unwritten(const DeviceNDArrayBase& array, std::uint64_t made, int place) {
  const bool written =
      memory::written_since(made, {array.address(), array.layout(), array.dtype().itemsize()});
  require<LogicError>(!written, [&] {
    return fmt::format(
        "array {} of the expression, of shape {} and {}, was written after the expression was "
        "made; eval() keeps values",
        place, to_string(array.shape()), to_string(array.dtype()));
  });
}

}  // namespace quarry::expr
