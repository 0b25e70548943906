// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>

#include "backend/cuda/launch/tiles.hpp"

/// Conflicts between the threads of a warp that read a tile from shared memory.
namespace quarry::backend::cuda {

/// How many different places are in the same bank, at most, that the first warp reads at once when
/// it writes a full tile of elements of `size` bytes. Inputs and outputs have elements of up to
/// `widest` bytes, which swizzled tiles keep together (map_tiled_body::unit).
std::uint32_t bank_conflicts(const Tiles& tiles, std::uint32_t size, std::uint32_t widest);

}  // namespace quarry::backend::cuda
