// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/texture.hpp>

#include <fmt/format.h>

namespace quarry {
namespace {

/// Elements of one number, or of `num_channels` numbers.
TextureFormat format_of(const DeviceNDArrayBase& array, unsigned num_channels) {
  TextureFormat format = texture_format(array.dtype());
  if (num_channels == 1) return format;
  require<LogicError>(format.num_channels == 1, [&] {
    return fmt::format("a texture of {} channels of {}, which are {} themselves", num_channels,
                       to_string(array.dtype()), to_string(format));
  });
  format.num_channels = num_channels;
  return format;
}

}  // namespace

Texture linear_texture(const DeviceNDArrayBase& array, const TextureOptions& options,
                       unsigned num_channels, bool allow_offset) {
  require<LogicError>(array.is_c_contiguous() || array.is_f_contiguous(), [&] {
    return fmt::format("a texture of an array of shape {} and strides {}: it is not contiguous",
                       to_string(array.shape()), to_string(array.strides()));
  });
  return Texture::linear(array, array.nbytes(), format_of(array, num_channels), options,
                         allow_offset);
}

Texture pitched_texture(const DeviceNDArrayBase& array, const TextureOptions& options,
                        unsigned num_channels) {
  const Shape& shape = array.shape();
  require<ShapeError>(array.ndim() == 2 && !array.empty(), [&] {
    return fmt::format("a texture of rows of an array of shape {}: it must have two axes",
                       to_string(shape));
  });
  const TextureFormat format = format_of(array, num_channels);
  const auto itemsize = static_cast<std::int64_t>(array.dtype().itemsize());
  constexpr std::int64_t unit = 512;  // of which every GPU takes multiples as a pitch
  const std::int64_t single = (shape[1] * itemsize + unit - 1) / unit * unit;
  const std::int64_t pitch = shape[0] > 1 ? array.strides()[0] : single;
  const bool is_dense = shape[1] == 1 || array.strides()[1] == itemsize;
  require<LogicError>(is_dense && pitch > 0 && shape[1] % num_channels == 0, [&] {
    return fmt::format("a texture of rows of an array of shape {} and strides {}, of {} a row",
                       to_string(shape), to_string(array.strides()), to_string(format));
  });
  const ArrayDescriptor rows{.width = static_cast<std::size_t>(shape[1] / num_channels),
                             .height = static_cast<std::size_t>(shape[0]),
                             .dtype = format.dtype,
                             .num_channels = format.num_channels};
  return Texture::pitched(array, rows, static_cast<std::size_t>(pitch), options);
}

}  // namespace quarry
