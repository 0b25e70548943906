// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include "backend/cuda/launch/tile_cut.hpp"

/// Tiles of elements of one or two bytes that are turned while they are read
/// (kernels/turned_tile.cuh): pure functions of the numbers of a call.
namespace quarry::backend::cuda {

/// Of copies of large arrays: of one input, to one output.
Cut turned_cut_of(const CallOperands& operands, const Shape& shape, const TiledInputs& tiled);

/// The runs of such tiles, whose rows are `row` and are written by vectors of `width` elements:
/// each element of a row begins a run of dense elements of the input, one of every row. None if
/// the axes do not lie so, or if many parts of runs would not be full.
std::optional<kernels::turned_tile> turned_tile_of(const CallOperands& operands, const Shape& shape,
                                                   const TiledInputs& tiled, const Cut& cut,
                                                   const Axis& row, std::uint32_t width);

}  // namespace quarry::backend::cuda
