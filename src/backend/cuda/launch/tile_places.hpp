// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <span>

#include "backend/cuda/launch/tile_cut.hpp"

/// Where the elements of tiles are in shared memory: pure functions of the numbers of a call.
namespace quarry::backend::cuda {

/// The operands of a call that are read by tiles, or the others.
struct TilePart {
  SmallArray<Operand> operands;
  SmallArray<std::uint32_t> sizes;
  SmallArray<std::size_t> number;

  CallOperands call(std::size_t outputs) const {
    return {std::span<const Operand>(operands.data(), operands.size()), sizes.data(), outputs};
  }
};

struct TilePlaces {
  PerAxis<std::int64_t> pitch{};  ///< elements of the tile from one to the next along an axis
  int word = 0;                   ///< elements of less than 4 bytes are read by 4, 8 or 16
};
/// Elements of less than a word are read by words, if they are dense along rows, and rows lie an
/// odd number of elements apart, if shared memory has space for that. `read` are the axes of
/// `tiled`, which has strides along them.
TilePlaces places_of(const Cut& cut, const TiledInputs& inputs, const Axes& read,
                     const TilePart& tiled, bool swizzled);
/// The number of each element in the order of reading.
TilePlaces places_in_order(const Cut& cut, const Order& order);

}  // namespace quarry::backend::cuda
