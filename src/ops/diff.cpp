// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/diff.hpp>

#include <fmt/format.h>

namespace quarry::expr {

void require_differences(const Shape& shape, std::int64_t n, std::int64_t axis) {
  require<ShapeError>(n >= 0, [&] { return fmt::format("diff {} times", n); });
  require<ShapeError>(!shape.empty(), "diff of an array without axes");
  normalize_axis(axis, shape.size());
}

}  // namespace quarry::expr
