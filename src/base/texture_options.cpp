// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>
#include <quarry/base/texture_options.hpp>

#include <fmt/format.h>

namespace quarry {

std::string to_string(AddressMode mode) {
  switch (mode) {
    case AddressMode::wrap:
      return "wrap";
    case AddressMode::clamp:
      return "clamp";
    case AddressMode::mirror:
      return "mirror";
    case AddressMode::border:
      return "border";
  }
  return "unknown";
}

std::string to_string(const TextureFormat& format) {
  return fmt::format("{} x {}", format.num_channels, to_string(format.dtype));
}

bool is_texture_type(const DType& dtype) {
  switch (dtype.id()) {
    case TypeId::int8:
    case TypeId::int16:
    case TypeId::int32:
    case TypeId::uint8:
    case TypeId::uint16:
    case TypeId::uint32:
    case TypeId::float16:
    case TypeId::float32:
      return true;
    default:
      return false;
  }
}

TextureFormat texture_format(const DType& dtype) {
  switch (dtype.id()) {
    case TypeId::float64:
      return {TypeId::int32, 2};
    case TypeId::complex64:
      return {TypeId::float32, 2};
    case TypeId::complex128:
      return {TypeId::int32, 4};
    default:
      require<DTypeError>(is_texture_type(dtype), [&] {
        return fmt::format(
            "textures and CUDA arrays have integers of 8, 16 and 32 bits, float16, float32, and as "
            "channels float64, complex64 and complex128; not {}",
            to_string(dtype));
      });
      return {dtype, 1};
  }
}

}  // namespace quarry
