// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/creation.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace quarry::detail {

Layout layout_like(const Layout& like, std::size_t itemsize) {
  if (is_c_contiguous(like, itemsize)) return {like.shape, c_strides(like.shape, itemsize)};
  std::vector<std::size_t> order(like.rank());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(like.strides[a]) > std::abs(like.strides[b]);
  });
  Shape sorted;
  for (const std::size_t axis : order) sorted.push_back(like.shape[axis]);
  const Strides dense = c_strides(sorted, itemsize);
  Layout result = like;
  for (std::size_t i = 0; i < order.size(); ++i) result.strides[order[i]] = dense[i];
  return result;
}

ArrayOptions options_like(const DeviceNDArrayBase& like, const ArrayOptions& options) {
  ArrayOptions result = options;
  if (!options.stream && !options.device) result.stream = stream_for(like);
  return result;
}

}  // namespace quarry::detail
