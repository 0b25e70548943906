// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tile_banks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace quarry::backend::cuda {
namespace {

/// Where a position is in the tile that has sizes and pitches, those of axis 0 vary fastest.
template <class Place, class Axis>
Place place_of(std::uint32_t position, std::size_t axes, const Axis& axis_of) {
  Place place = 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto [size, pitch] = axis_of(i);
    place += position % size * pitch;
    position /= size;
  }
  return place;
}

/// How many elements before the first column that is written the vectors of a row begin, which are
/// shifted to a sector: of a tile that begins at one.
std::uint32_t shift_of(const Tiles& tiles, std::uint32_t row) {
  const auto last = static_cast<std::size_t>(tiles.variant.rank) - 1;
  const auto axes = static_cast<std::size_t>(tiles.variant.write_rank - 1);
  const kernels::tiled_axis* axis = tiles.tiling.write.axis;
  const Strides& strides = tiles.operands[0].strides;
  const std::int64_t offset =
      axis[last].before * strides[last] + place_of<std::int64_t>(row, axes, [&](std::size_t i) {
        return std::pair(axis[last - 1 - i].size.constant, strides[last - 1 - i]);
      });
  return static_cast<std::uint32_t>(offset) % kernels::tile_sector /
         static_cast<std::uint32_t>(strides[last]);
}

}  // namespace

std::uint32_t bank_conflicts(const Tiles& tiles, std::uint32_t size, std::uint32_t widest) {
  constexpr std::uint32_t line = 128, bank = 4, warp = 32;
  const std::uint32_t unit =
      std::max({widest, bank, static_cast<std::uint32_t>(tiles.variant.word)});
  const kernels::tile_walk& walk = tiles.tiling.write;
  const auto rank = static_cast<std::size_t>(tiles.variant.rank);
  const auto rows_rank = static_cast<std::size_t>(tiles.variant.write_rank - 1);
  const kernels::tiled_axis& last = walk.axis[rank - 1];
  const auto width = static_cast<std::uint32_t>(tiles.variant.width);
  const std::uint32_t lanes = 1u << walk.lanes_log2;
  const std::uint32_t wide = std::max(size, bank), in_line = line / wide;  // what a bank has
  std::array<std::uint32_t, warp> place{};
  std::size_t count = 0;
  for (std::uint32_t thread = 0; thread < warp; ++thread) {
    const std::uint32_t row = thread / lanes;
    std::uint32_t column = thread % lanes * width + last.before;
    if (row >= walk.rows || column >= last.size.constant) continue;
    if (tiles.variant.shifted) column -= std::min(column, shift_of(tiles, row));
    std::uint32_t at = place_of<std::uint32_t>(row, rows_rank, [&](std::size_t i) {
      const kernels::tiled_axis& axis = walk.axis[rank - 2 - i];
      return std::pair(axis.size.constant, axis.pitch);
    });
    at += !tiles.variant.row_of_axes
              ? column * last.pitch
              : place_of<std::uint32_t>(column, tiles.tiling.row_axes, [&](std::size_t i) {
                  return std::pair(tiles.tiling.row[i].size.constant, tiles.tiling.row[i].pitch);
                });
    at *= size;
    if (tiles.variant.swizzled) at ^= at / line % (line / unit) * unit;
    place[count++] = at / wide;
  }
  const auto begin = place.begin(), end = begin + static_cast<std::ptrdiff_t>(count);
  std::sort(begin, end);
  const auto distinct = std::unique(begin, end);
  std::array<std::uint32_t, line / bank> uses{};
  for (auto at = begin; at != distinct; ++at) ++uses[*at % in_line];
  return *std::max_element(uses.begin(), uses.end());
}

}  // namespace quarry::backend::cuda
