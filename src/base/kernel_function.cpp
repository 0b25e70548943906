// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/kernel_function.hpp>

#include <fmt/format.h>

namespace quarry {

std::string to_string(const Dim3& extents) {
  return fmt::format("({}, {}, {})", extents.x, extents.y, extents.z);
}

}  // namespace quarry
