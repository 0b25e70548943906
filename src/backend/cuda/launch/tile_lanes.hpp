// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "backend/cuda/launch/tiles.hpp"

/// How many threads are along the rows of tiles.
namespace quarry::backend::cuda {

/// Bytes of an element of what is read by tiles, of what is written, and of the widest of both.
struct TileElements {
  std::uint32_t read, written, widest;
};
/// Sets lanes_log2 of tiling.read and tiling.write, and how far the rows of a thread are apart, of
/// tiles that are complete otherwise. Of large arrays it looks for the fastest numbers, and has
/// vectors of 8 instead of 16 bytes where that is faster.
void choose_lanes(Tiles& tiles, const TileElements& elements, bool is_large);

}  // namespace quarry::backend::cuda
