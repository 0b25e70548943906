// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/creation.hpp>

#include <fmt/format.h>

#include "base/dense_like.hpp"

namespace quarry::detail {

Layout layout_like(const Layout& like, std::size_t itemsize, std::optional<Order> order) {
  if (order) {
    return {like.shape, dense_strides(like.shape, itemsize, resolve_order(*order, like, itemsize))};
  }
  return dense_like(like, itemsize);
}

ArrayOptions options_like(const DeviceNDArrayBase& like, const ArrayOptions& options) {
  ArrayOptions result = options;
  if (!options.stream && !options.device) result.stream = stream_for(like);
  return result;
}

void require_whole_strides(const Layout& layout, std::size_t itemsize) {
  if (element_count(layout.shape) == 0) return;
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    const bool counts = layout.shape[d] > 1;
    require<LogicError>(
        !counts || layout.strides[d] % static_cast<std::int64_t>(itemsize) == 0, [&] {
          return fmt::format(
              "an xtensor adaptor cannot have strides {}, which are no multiples of {} bytes",
              to_string(layout.strides), itemsize);
        });
  }
}

}  // namespace quarry::detail
