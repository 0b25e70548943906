// SPDX-License-Identifier: BSD-3-Clause
#include "base/dense_like.hpp"

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

}  // namespace

Layout dense_like(const Shape& shape, std::span<const Layout* const> operands, std::size_t itemsize,
                  const bool* is_reduced) {
  Axes order;  // innermost first
  Layout result;
  bool is_c = true;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (is_reduced && is_reduced[d]) continue;
    std::size_t place = order.size();
    for (std::size_t i = place; i-- > 0;) {
      const Vote vote = vote_on(d, static_cast<std::size_t>(order[i]), shape.size(), operands);
      if (vote == Vote::keep) break;
      if (vote == Vote::exchange) place = i;
    }
    is_c = is_c && place == order.size();
    order.insert(place, static_cast<std::int64_t>(d));
  }
  Shape sorted;
  for (std::size_t i = order.size(); i-- > 0;) {
    sorted.push_back(shape[static_cast<std::size_t>(order[i])]);
  }
  const Strides dense = c_strides(sorted, itemsize);
  if (is_c) return {std::move(sorted), dense};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (is_reduced && is_reduced[d]) continue;
    std::size_t i = 0;
    while (order[i] != static_cast<std::int64_t>(d)) ++i;
    result.shape.push_back(shape[d]);
    result.strides.push_back(dense[order.size() - 1 - i]);
  }
  return result;
}

Layout dense_like(const Layout& like, std::size_t itemsize) {
  const Layout* const operand = &like;
  return dense_like(like.shape, {&operand, 1}, itemsize);
}

}  // namespace quarry
