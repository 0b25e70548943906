// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/creation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace quarry::detail {

Layout layout_like(const Layout& like, std::size_t itemsize, std::optional<Order> order) {
  if (order) {
    return {like.shape, dense_strides(like.shape, itemsize, resolve_order(*order, like, itemsize))};
  }
  if (is_c_contiguous(like, itemsize)) return {like.shape, c_strides(like.shape, itemsize)};
  std::vector<std::size_t> axes(like.rank());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(like.strides[a]) > std::abs(like.strides[b]);
  });
  Shape sorted;
  for (const std::size_t axis : axes) sorted.push_back(like.shape[axis]);
  const Strides dense = c_strides(sorted, itemsize);
  Layout result = like;
  for (std::size_t i = 0; i < axes.size(); ++i) result.strides[axes[i]] = dense[i];
  return result;
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
