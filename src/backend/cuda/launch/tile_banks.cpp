// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tile_banks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace quarry::backend::cuda {
namespace {

/// Where a position is in the tile that has sizes and pitches, those of axis 0 vary fastest.
template <class Axis>
std::uint32_t place_of(std::uint32_t position, std::size_t axes, const Axis& axis_of) {
  std::uint32_t place = 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const auto [size, pitch] = axis_of(i);
    place += position % size * pitch;
    position /= size;
  }
  return place;
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
    const std::uint32_t row = thread / lanes, column = thread % lanes * width;
    if (row >= walk.rows || column >= last.size.constant) continue;
    std::uint32_t at = place_of(row, rows_rank, [&](std::size_t i) {
      const kernels::tiled_axis& axis = walk.axis[rank - 2 - i];
      return std::pair(axis.size.constant, axis.pitch);
    });
    at += !tiles.variant.row_of_axes
              ? column * last.pitch
              : place_of(column, tiles.tiling.row_axes, [&](std::size_t i) {
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
