// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/jit/variant.hpp"
#include "backend/cuda/launch/geometry.hpp"

/// How maps with inputs in another order than the output are cut into tiles: kernels/map_tiled.cuh.
namespace quarry::backend::cuda {

inline constexpr unsigned tile_threads = 256;

struct Tiles {
  TiledMap variant;
  kernels::tiling tiling;
  Shape shape;                   ///< the axes of writing
  SmallArray<Operand> operands;  ///< with the strides that the kernel expects
  unsigned count;                ///< one block each
};
/// None where no input needs tiles, or the kernel cannot do it. The operands are those of a call
/// without side operands, over axes of which the last one is the innermost of the first output.
std::optional<Tiles> tiles_of(const CallOperands& operands, const Shape& shape,
                              int multiprocessors);

}  // namespace quarry::backend::cuda
