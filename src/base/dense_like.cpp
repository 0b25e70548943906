// SPDX-License-Identifier: BSD-3-Clause
#include "base/dense_like.hpp"

#include <array>

namespace quarry {

Layout dense_like(const Layout& like, std::size_t itemsize) {
  if (is_c_contiguous(like, itemsize)) return {like.shape, c_strides(like.shape, itemsize)};
  Axes axes;
  for (std::size_t d = 0; d < like.rank(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  Strides in_order = like.strides;
  sort_axes(axes, std::array{&in_order});
  Shape sorted;
  for (const std::int64_t axis : axes) sorted.push_back(like.shape[static_cast<std::size_t>(axis)]);
  const Strides dense = c_strides(sorted, itemsize);
  Layout result = like;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.strides[static_cast<std::size_t>(axes[i])] = dense[i];
  }
  return result;
}

}  // namespace quarry
