// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

/// What the geometries of all families count with.
namespace quarry::backend::cuda {

inline constexpr std::int64_t max_grid_x = 2147483647, max_grid_y = 65535;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// The number of blocks along x for `n` elements, `block` in each. LogicError where a grid has not
/// so many.
unsigned grid(std::int64_t n, std::int64_t block);

/// The power of two that n threads fill, at most `limit`, which is one too.
constexpr std::int64_t power_above(std::int64_t n, std::int64_t limit) {
  return n >= limit ? limit
                    : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// Indices of 32 bits suffice below 2^31 - 2^28: in loops they exceed the size by up to one grid
/// stride, < 2^28.
constexpr bool needs_wide_index(std::int64_t span, std::int64_t size) {
  constexpr std::int64_t most = (std::int64_t{1} << 31) - (std::int64_t{1} << 28);
  return std::max(span, size) >= most;
}

}  // namespace quarry::backend::cuda
