// SPDX-License-Identifier: BSD-3-Clause
#include "base/dense_like.hpp"

#include <array>
#include <cstdint>

namespace quarry {
namespace {

enum class Vote { none, keep, exchange };

/// Whether axis `outer` stays outside of `inner`, which is behind it in C order.
Vote vote_on(std::size_t outer, std::size_t inner, std::size_t rank,
             std::span<const Layout* const> operands) {
  Vote result = Vote::none;
  for (const Layout* const operand : operands) {
    const std::size_t missing = rank - operand->rank();  // leading axes that it is broadcast along
    if (outer < missing) continue;
    const auto stride = [&](std::size_t axis) -> std::uint64_t {
      const std::int64_t step = operand->strides[axis - missing];
      if (operand->shape[axis - missing] == 1) return 0;
      return step < 0 ? 0 - std::uint64_t(step) : std::uint64_t(step);
    };
    const std::uint64_t of_outer = stride(outer), of_inner = stride(inner);
    if (of_outer == 0 || of_inner == 0) continue;
    if (of_outer >= of_inner) return Vote::keep;
    result = Vote::exchange;
  }
  return result;
}

/// Of dense elements whose axes lie in this order, outermost first; 0 for axes that are not in it.
Strides strides_in(const Axes& order, const Shape& shape, std::size_t itemsize) {
  Shape sorted;
  for (const std::int64_t axis : order) sorted.push_back(shape[static_cast<std::size_t>(axis)]);
  const Strides dense = c_strides(sorted, itemsize);
  Strides result = Strides::filled(shape.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    result[static_cast<std::size_t>(order[i])] = dense[i];
  }
  return result;
}

}  // namespace

Layout dense_like(const Layout& like, std::size_t itemsize) {
  if (is_c_contiguous(like, itemsize)) return {like.shape, c_strides(like.shape, itemsize)};
  Axes axes;
  for (std::size_t d = 0; d < like.rank(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  Strides in_order = like.strides;
  sort_axes(axes, std::array{&in_order});
  return {like.shape, strides_in(axes, like.shape, itemsize)};
}

Layout dense_like(const Shape& shape, std::span<const Layout* const> operands, std::size_t itemsize,
                  const bool* is_reduced) {
  const auto is_kept = [&](std::size_t d) { return !is_reduced || !is_reduced[d]; };
  // Outermost first. Of all axes, since a reduced one may decide between two that are kept.
  Axes order;
  for (std::size_t d = shape.size(); d-- > 0;) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Vote vote = vote_on(d, static_cast<std::size_t>(order[i]), shape.size(), operands);
      if (vote == Vote::keep) break;
      if (vote == Vote::exchange) place = i + 1;
    }
    order.insert(place, static_cast<std::int64_t>(d));
  }
  Axes kept;
  for (const std::int64_t axis : order) {
    if (is_kept(static_cast<std::size_t>(axis))) kept.push_back(axis);
  }
  const Strides strides = strides_in(kept, shape, itemsize);
  Layout result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!is_kept(d)) continue;
    result.shape.push_back(shape[d]);
    result.strides.push_back(strides[d]);
  }
  return result;
}

}  // namespace quarry
