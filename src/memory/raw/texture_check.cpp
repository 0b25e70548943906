// SPDX-License-Identifier: BSD-3-Clause
#include "memory/raw/texture_check.hpp"

#include <fmt/format.h>

#include <quarry/base/promote.hpp>

#include "memory/address_check.hpp"
#include "memory/raw/raw_address.hpp"

namespace quarry::memory {
namespace {

constexpr unsigned most_anisotropy = 16;

/// Whether kernels read the elements as floats.
bool reads_floats(const TextureFormat& format, const TextureOptions& options) {
  if (!detail::is_integer(format.dtype.kind())) return true;
  return !options.read_as_integer && format.dtype.itemsize() < 4;
}

void require_sampling(const std::string& what, const TextureFormat& format,
                      const TextureOptions& options) {
  require<LogicError>(
      options.filter_mode == FilterMode::point || reads_floats(format, options), [&] {
        return fmt::format(
            "{}: linear filters are for floats, and for integers of 8 and 16 bits that are read as "
            "floats (read_as_integer = false)",
            what);
      });
  require<LogicError>(
      !options.srgb || (format.dtype == TypeId::uint8 && !options.read_as_integer), [&] {
        return fmt::format("{}: sRGB is for uint8 that is read as floats (read_as_integer = false)",
                           what);
      });
  require<LogicError>(options.max_anisotropy >= 1 && options.max_anisotropy <= most_anisotropy,
                      [&] {
                        return fmt::format("{}: a largest anisotropy of {}; GPUs have 1 to {}",
                                           what, options.max_anisotropy, most_anisotropy);
                      });
}

/// The axes of a texture have modes of their own.
void require_modes(const std::string& what, std::size_t axes, const TextureOptions& options) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const AddressMode mode = options.address_mode[axis];
    const bool repeats = mode == AddressMode::wrap || mode == AddressMode::mirror;
    require<LogicError>(!repeats || options.normalized_coordinates, [&] {
      return fmt::format("{}: the address mode {} along axis {} needs normalised coordinates", what,
                         to_string(mode), axis);
    });
  }
}

/// Layers and faces are no axes.
std::size_t axes_of(const ArrayDescriptor& d) {
  if (d.cubemap) return 0;
  return 1 + std::size_t{d.height > 0} + std::size_t{d.depth > 0 && !d.layered};
}

void require_no_coordinates(const std::string& what, const TextureOptions& options) {
  require<LogicError>(
      options.filter_mode == FilterMode::point && !options.normalized_coordinates, [&] {
        return fmt::format("{}: it is read by index, without filter and normalised coordinates",
                           what);
      });
}

std::string describe(const backend::TextureMemory& m) {
  const std::string format = to_string(m.format);
  return m.source == backend::TextureSource::linear
             ? fmt::format("a texture of {} elements of {}", m.width, format)
             : fmt::format("a texture of {} rows of {} elements of {}", m.height, m.width, format);
}

void require_pitch(const std::string& what, const backend::TextureMemory& m,
                   const backend::TextureLimits& limits) {
  const std::size_t row = size_product(m.width, m.format.element_bytes());
  require<LogicError>(m.pitch >= row && m.pitch % limits.pitch_alignment == 0, [&] {
    return fmt::format("{}: a pitch of {} bytes; it must be a multiple of {} and at least {}", what,
                       m.pitch, limits.pitch_alignment, row);
  });
}

/// Of what the texture reads.
std::size_t bytes_of(const backend::TextureMemory& m) {
  const std::size_t row = size_product(m.width, m.format.element_bytes());
  return m.source == backend::TextureSource::linear
             ? row
             : size_sum(size_product(m.pitch, m.height - 1), row);
}

}  // namespace

void require_format(const TextureFormat& format) {
  const unsigned n = format.num_channels;
  require<LogicError>(is_texture_type(format.dtype) && (n == 1 || n == 2 || n == 4), [&] {
    return fmt::format(
        "a texture has 1, 2 or 4 channels of an integer of 8, 16 or 32 bits, float16 or float32, "
        "not {}",
        to_string(format));
  });
}

void require_texture(const ArrayDescriptor& array, const TextureOptions& options) {
  const std::string what = fmt::format("a texture of a CUDA array of {}", to_string(array));
  require_sampling(what, {array.dtype, array.num_channels}, options);
  require_modes(what, axes_of(array), options);
  require<LogicError>(!options.seamless_cubemap || array.cubemap,
                      [&] { return fmt::format("{}: only cubemaps can be seamless", what); });
}

void require_texture(const backend::TextureMemory& m, const DevicePtr& memory,
                     const TextureOptions& options, const backend::TextureLimits& limits,
                     const Device& device) {
  const std::string what = describe(m);
  const bool is_linear = m.source == backend::TextureSource::linear;
  require<LogicError>(m.width > 0 && (is_linear || m.height > 0),
                      [&] { return fmt::format("{}: it has none", what); });
  require_sampling(what, m.format, options);
  if (is_linear) {
    require_no_coordinates(what, options);
  } else {
    require_modes(what, 2, options);
    require_pitch(what, m, limits);
  }
  require<LogicError>(!options.seamless_cubemap,
                      [&] { return fmt::format("{}: only cubemaps can be seamless", what); });
  const auto before = static_cast<std::size_t>(memory.address() - DevicePtr(m.memory).address());
  require_device_memory(what.c_str(), memory, bytes_of(m) - before, device);
}

void require_surface(const ArrayDescriptor& array) {
  require<LogicError>(array.surface_load_store, [&] {
    return fmt::format("a surface of a CUDA array of {}: it must be made with surface_load_store",
                       to_string(array));
  });
}

}  // namespace quarry::memory
