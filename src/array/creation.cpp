// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/creation.hpp>

#include <fmt/format.h>

#include "base/dense_like.hpp"

namespace quarry::detail {

Layout layout_like(const Layout& like, std::size_t itemsize, std::optional<Order> order,
                   const Strides& strides) {
  if (!strides.empty()) return new_layout(like.shape, itemsize, order, strides);
  if (!order) return dense_like(like, itemsize);
  return {like.shape, dense_strides(like.shape, itemsize, resolve_order(*order, like, itemsize))};
}

ArrayOptions options_like(const Layout& like, std::size_t itemsize, const ArrayOptions& options) {
  ArrayOptions result = options;
  result.strides = layout_like(like, itemsize, options.order, options.strides).strides;
  result.order = std::nullopt;
  return result;
}

void require_dense(const Layout& layout, std::size_t itemsize) {
  const Layout dense = dense_like(layout, itemsize);
  bool agrees = true;
  for (std::size_t d = 0; d < layout.rank(); ++d) {
    agrees = agrees && (layout.shape[d] == 1 || layout.strides[d] == dense.strides[d]);
  }
  require<LogicError>(agrees || element_count(layout.shape) == 0, [&] {
    return fmt::format("an array of shape {} and strides {} has gaps, or is not in order",
                       to_string(layout.shape), to_string(layout.strides));
  });
}

void require_listed(const Shape& shape, std::size_t depth, std::size_t length) {
  require<ShapeError>(static_cast<std::size_t>(shape[depth]) == length, [&] {
    return fmt::format("lists of {} and {} elements at depth {} of an array", shape[depth], length,
                       depth);
  });
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
