// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>

#include <cstddef>
#include <string>

namespace quarry {

/// What a CUDA array is: an opaque block of a GPU's memory for textures, surfaces and copies.
/// Extents count elements; an element has one, two or four numbers of one type.
struct ArrayDescriptor {
  std::size_t width = 0;   ///< along the first axis
  std::size_t height = 0;  ///< 0: one dimension
  std::size_t depth = 0;   ///< 0: no third axis; the number of layers if `layered` or `cubemap`
  DType dtype = TypeId::float32;    ///< an integer of 8, 16 or 32 bits, float16 or float32
  unsigned num_channels = 1;        ///< 1, 2 or 4
  bool layered = false;             ///< the third axis (of 1-D arrays the second) counts layers
  bool cubemap = false;             ///< six layers are the faces of a cube, `width` x `width` each
  bool surface_load_store = false;  ///< kernels may write to it, through a surface
  bool texture_gather = false;      ///< two dimensions only: kernels may fetch four neighbours

  /// Of one element, with all its channels.
  constexpr std::size_t element_bytes() const { return dtype.itemsize() * num_channels; }
  /// Of one row.
  constexpr std::size_t row_bytes() const { return width * element_bytes(); }
  /// Rows of a plane; 1 if there is no second axis.
  constexpr std::size_t rows() const { return height > 0 ? height : 1; }
  /// Planes, or layers; 1 if there is no third axis.
  constexpr std::size_t planes() const { return depth > 0 ? depth : 1; }
  /// Of all elements without gaps.
  constexpr std::size_t bytes() const { return row_bytes() * rows() * planes(); }
  /// Whether there is neither a second nor a third axis.
  constexpr bool is_one_dimensional() const { return height == 0 && depth == 0; }

  /// Whether all fields are equal.
  friend constexpr bool operator==(const ArrayDescriptor&, const ArrayDescriptor&) = default;
};

/// "64 x 32 x 6 of 4 x uint8, layered, cubemap": width, height and depth as they are.
std::string to_string(const ArrayDescriptor& descriptor);

}  // namespace quarry
