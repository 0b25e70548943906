// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>
#include <quarry/memory/texture.hpp>

/// Textures of arrays on a GPU, without a copy. The memory of the array stays as long as the
/// texture. A kernel that gets the texture reads what was written before it began.
namespace quarry {

/// The elements of a contiguous array in the order of memory, for fp_tex1Dfetch<T>. Elements that
/// textures do not have are channels, as texture_format() says; with `num_channels` that many
/// numbers are one element. Arrays begin at multiples of 256 bytes and textures of most GPUs at
/// multiples of 512: see Texture::linear() for `allow_offset`. Throws LogicError and DTypeError.
Texture linear_texture(const DeviceNDArrayBase& array, const TextureOptions& options = {},
                       unsigned num_channels = 1, bool allow_offset = false);

/// Two axes, for fp_tex2D<T>(texture, x, y), which is array(y, x). The elements of a row have no
/// gaps, and rows lie as Texture::pitched() wants them. With `num_channels` that many numbers of a
/// row are one element. Throws ShapeError, LogicError and DTypeError.
Texture pitched_texture(const DeviceNDArrayBase& array, const TextureOptions& options = {},
                        unsigned num_channels = 1);

}  // namespace quarry
