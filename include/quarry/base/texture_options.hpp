// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/array_descriptor.hpp>

#include <array>
#include <cstddef>
#include <string>

/// How kernels read a texture.
namespace quarry {

/// What a coordinate beyond the edge reads.
enum class AddressMode {
  wrap,    ///< the other end: the texture repeats; with normalised coordinates only
  clamp,   ///< the element at the edge
  mirror,  ///< every second repetition is mirrored; with normalised coordinates only
  border   ///< the border colour
};
/// "wrap", ...
std::string to_string(AddressMode mode);

/// What is read between elements. Element i lies at i + 0.5.
enum class FilterMode {
  point,  ///< the nearest element
  linear  ///< 2, 4 or 8 elements, by weights of 8 bits; results are floating-point numbers
};

/// How a texture is read. Initially as CUDA's runtime has it: tex2D<T>(texture, x, y) is the
/// element at (x, y), and the nearest one beyond the edge.
struct TextureOptions {
  /// Along x, y and z.
  std::array<AddressMode, 3> address_mode{AddressMode::clamp, AddressMode::clamp,
                                          AddressMode::clamp};
  FilterMode filter_mode = FilterMode::point;  ///< between elements
  /// TRSF_READ_AS_INTEGER: integers of 8 and 16 bits as they are. If false, kernels read them as
  /// floats: unsigned ones in [0, 1], signed ones in [-1, 1].
  bool read_as_integer = true;
  bool normalized_coordinates = false;  ///< TRSF_NORMALIZED_COORDINATES: all of an axis is [0, 1)
  /// TRSF_SRGB: elements of uint8 that are read as floats are converted from sRGB to linear.
  bool srgb = false;
  bool seamless_cubemap = false;  ///< TRSF_SEAMLESS_CUBEMAP: linear filters cross the cube's edges
  std::array<float, 4> border_color{};  ///< by channel
  unsigned max_anisotropy = 1;          ///< 1 to 16

  /// Whether all fields are equal.
  friend constexpr bool operator==(const TextureOptions&, const TextureOptions&) = default;
};

/// The elements of a texture: one, two or four numbers of one type.
struct TextureFormat {
  DType dtype = TypeId::float32;  ///< an integer of 8, 16 or 32 bits, float16 or float32
  unsigned num_channels = 1;      ///< 1, 2 or 4

  /// Of one element, with all its channels.
  constexpr std::size_t element_bytes() const { return dtype.itemsize() * num_channels; }
  /// Whether both fields are equal.
  friend constexpr bool operator==(const TextureFormat&, const TextureFormat&) = default;
};
/// "4 x uint8".
std::string to_string(const TextureFormat& format);

/// The format of elements of an array. Types that textures do not have are channels of 32 bits, as
/// fp_tex2D<T> and the like in <quarry/textures.cuh> read them: float64 is 2 x int32, complex64
/// 2 x float32, complex128 4 x int32. Throws DTypeError for other types.
TextureFormat texture_format(const DType& dtype);
/// Whether CUDA arrays and textures have numbers of this type.
bool is_texture_type(const DType& dtype);

}  // namespace quarry
