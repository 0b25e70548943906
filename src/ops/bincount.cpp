// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/ops/bincount.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/stream_state.hpp"

namespace quarry::expr {

void require_bins_known(const Stream& stream) {
  require<LogicError>(!stream.state().is_captured(),
                      "bincount waits for the largest element, which cannot be captured into a "
                      "graph: give the number of bins, bincount(x, {.bins = n})");
}

void require_countable(const Shape& shape, std::int64_t minlength) {
  require<ShapeError>(shape.size() == 1, [&] {
    return fmt::format("bincount wants one axis: the array has shape {}", to_string(shape));
  });
  require<ShapeError>(minlength >= 0,
                      [&] { return fmt::format("bincount with minlength {}", minlength); });
}

void require_weights(const Shape& elements, const Shape& weights) {
  require<ShapeError>(elements == weights, [&] {
    return fmt::format("bincount of elements of shape {} with weights of shape {}",
                       to_string(elements), to_string(weights));
  });
}

std::int64_t bin_count(std::int64_t highest, std::int64_t minlength) {
  require<IndexError>(highest >= 0, [&] {
    return fmt::format("bincount of an element {}: bins are counted from 0", highest);
  });
  return bin_count(static_cast<std::uint64_t>(highest), minlength);
}

std::int64_t bin_count(std::uint64_t highest, std::int64_t minlength) {
  require<SizeOverflow>(highest < std::uint64_t{std::numeric_limits<std::int64_t>::max()}, [&] {
    return fmt::format("bincount of an element {}: the number of bins does not fit in 63 bits",
                       highest);
  });
  return std::max(static_cast<std::int64_t>(highest) + 1, minlength);
}

}  // namespace quarry::expr
