// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

namespace quarry {

/// The face of a cubemap, which is its layer in a CUDA array of cubemaps, with the numbers of
/// CUarray_cubemap_face.
enum class ArrayCubemapFace {
  positive_x = 0,
  negative_x = 1,
  positive_y = 2,
  negative_y = 3,
  positive_z = 4,
  negative_z = 5
};

/// How a resource of OpenGL or Direct3D is registered, with the bits of CUgraphicsRegisterFlags:
/// for programs that call cuGraphics* themselves.
enum class GraphicsRegisterFlags : unsigned {
  none = 0,           ///< read and written
  read_only = 1,      ///< CUDA does not write it
  write_discard = 2,  ///< CUDA writes all of it, and reads nothing
  surface_ldst = 4,   ///< bound to surfaces
  texture_gather = 8  ///< read by texture gathers
};
///@{
/// Of the bits.
constexpr GraphicsRegisterFlags operator|(GraphicsRegisterFlags a, GraphicsRegisterFlags b) {
  return static_cast<GraphicsRegisterFlags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr GraphicsRegisterFlags operator&(GraphicsRegisterFlags a, GraphicsRegisterFlags b) {
  return static_cast<GraphicsRegisterFlags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
///@}

}  // namespace quarry
