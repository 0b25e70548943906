// SPDX-License-Identifier: BSD-3-Clause
#include "base/aligned.hpp"

#include <cstdint>

#include "base/power_of_two.hpp"

namespace quarry {

bool is_aligned(const void* first, const Layout& layout, const DType& type) {
  auto places = reinterpret_cast<std::uintptr_t>(first);
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    if (layout.shape[d] > 1) places |= static_cast<std::uintptr_t>(layout.strides[d]);
  }
  return is_multiple(places, std::uintptr_t{type.alignment()});
}

}  // namespace quarry
