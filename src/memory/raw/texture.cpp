// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/texture.hpp>

#include <fmt/format.h>

#include <quarry/base/promote.hpp>

#include "backend/backend.hpp"
#include "backend/textures.hpp"
#include "base/forked.hpp"
#include "memory/raw/array_state.hpp"
#include "memory/raw/raw_address.hpp"
#include "memory/raw/texture_check.hpp"
#include "runtime/callback.hpp"

namespace quarry {
namespace detail {
namespace {

/// Of a texture with so many axes. A GPU filters along the others, too, and would read its border
/// there.
TextureOptions along(int axes, TextureOptions options) {
  for (auto axis = static_cast<std::size_t>(axes); axis < options.address_mode.size(); ++axis) {
    options.address_mode[axis] = AddressMode::clamp;
  }
  return options;
}

}  // namespace

/// A live texture object, and what it reads.
struct TextureState {
  TextureState(const Device& on, std::shared_ptr<ArrayState> of_array,
               std::shared_ptr<Buffer> of_memory, std::size_t before,
               const backend::TextureMemory& from, int axes, const TextureOptions& how)
      : device(on),
        array(std::move(of_array)),
        memory(std::move(of_memory)),
        offset(before),
        options(how),
        object(on.backend().textures().create_texture(from, along(axes, how))) {}
  ~TextureState() {
    if (!is_forked()) device.backend().textures().destroy_texture(object);
  }
  TextureState(const TextureState&) = delete;
  TextureState& operator=(const TextureState&) = delete;

  Device device;
  std::shared_ptr<ArrayState> array;
  std::shared_ptr<Buffer> memory;
  std::size_t offset;  ///< bytes from the object's first element to that of the caller
  TextureOptions options;
  std::uint64_t object;
};

struct SurfaceState {
  explicit SurfaceState(std::shared_ptr<ArrayState> of)
      : device(of->buffer.device()),
        array(std::move(of)),
        object(device.backend().textures().create_surface(array->buffer.data())) {}
  ~SurfaceState() {
    if (!is_forked()) device.backend().textures().destroy_surface(object);
  }
  SurfaceState(const SurfaceState&) = delete;
  SurfaceState& operator=(const SurfaceState&) = delete;

  Device device;
  std::shared_ptr<ArrayState> array;
  std::uint64_t object;
};

}  // namespace detail

namespace {

using backend::TextureMemory;
using backend::TextureSource;
using detail::ArrayState;
using detail::SurfaceState;
using detail::TextureState;

/// Stands for an object: what the streams that use memory are for it, they are for the object.
template <class State>
std::shared_ptr<Buffer> use_of(std::unique_ptr<State> state) {
  const Stream home = default_stream(state->device);
  State* const object = state.get();
  std::shared_ptr<State> owner(state.release(), detail::DeleteOutsideCallbacks());
  return std::make_shared<Buffer>(object, sizeof(State), home, std::move(owner), MemorySpace::host);
}

/// What is said of integers is not said of other types.
TextureOptions for_type(const DType& type, TextureOptions options) {
  options.read_as_integer &= detail::is_integer(type.kind());
  return options;
}
/// Directions have no unit.
TextureOptions for_array(const ArrayDescriptor& array, TextureOptions options) {
  options.normalized_coordinates |= array.cubemap;
  return for_type(array.dtype, options);
}

/// Of coordinates: layers are none.
int axes_of(const ArrayDescriptor& array) {
  if (array.cubemap || (array.depth > 0 && !array.layered)) return 3;
  return array.height > 0 ? 2 : 1;
}

std::unique_ptr<TextureState> of_array(const std::shared_ptr<ArrayState>& array,
                                       const TextureOptions& options) {
  const Device device = array->buffer.device();
  device.backend().textures();  // the CPU device has none, whatever the options
  memory::require_texture(array->descriptor, options);
  const TextureMemory from{TextureSource::array, array->buffer.data()};
  return std::make_unique<TextureState>(device, array, nullptr, 0, from, axes_of(array->descriptor),
                                        for_array(array->descriptor, options));
}

/// `from` begins at `given`, or before it.
std::unique_ptr<TextureState> of_memory(const TextureMemory& from, const DevicePtr& given,
                                        const TextureOptions& options,
                                        const backend::TextureLimits& limits,
                                        const Device& device) {
  memory::require_texture(from, given, options, limits, device);
  const std::size_t offset = given.address() - DevicePtr(from.memory).address();
  const int axes = from.source == TextureSource::pitched ? 2 : 1;
  return std::make_unique<TextureState>(device, nullptr, given.buffer(), offset, from, axes,
                                        for_type(from.format.dtype, options));
}

std::size_t require_elements(std::size_t bytes, const TextureFormat& format) {
  require<LogicError>(bytes % format.element_bytes() == 0, [&] {
    return fmt::format("a texture of {} bytes, which are no whole elements of {}", bytes,
                       to_string(format));
  });
  return bytes / format.element_bytes();
}

/// Bytes from the last multiple of `alignment`.
std::size_t require_aligned(const DevicePtr& memory, std::size_t alignment, std::size_t element,
                            bool allow_offset) {
  const std::size_t offset = memory.address() % alignment;
  require<LogicError>(offset == 0 || allow_offset, [&] {
    return fmt::format(
        "a texture of memory at {}: it is {} bytes behind a multiple of {}, where textures begin",
        to_string(memory), offset, alignment);
  });
  require<LogicError>(offset % element == 0, [&] {
    return fmt::format(
        "a texture of memory at {}: the offset of {} bytes is no multiple of the element's {}",
        to_string(memory), offset, element);
  });
  return offset;
}

void require_plane(const ArrayDescriptor& d) {
  require<LogicError>(
      d.depth == 0 && !d.layered && !d.cubemap && !d.surface_load_store && !d.texture_gather, [&] {
        return fmt::format("a texture of rows in memory is no array of {}: rows have two axes",
                           to_string(d));
      });
}

}  // namespace

Texture::Texture(const CudaArray& array, const TextureOptions& options)
    : use_(use_of(of_array(array.state(), options))) {}

Texture Texture::linear(const DevicePtr& memory, std::size_t bytes, const TextureFormat& format,
                        const TextureOptions& options, bool allow_offset) {
  const Device device = memory::device_of({&memory});
  const auto limits = device.backend().textures().limits();
  memory::require_format(format);
  const std::size_t count = require_elements(bytes, format), element = format.element_bytes();
  const std::size_t offset = require_aligned(memory, limits.alignment, element, allow_offset);
  const TextureMemory from{TextureSource::linear,
                           (memory - static_cast<std::ptrdiff_t>(offset)).get(), format,
                           count > 0 ? count + offset / element : 0};
  return Texture(use_of(of_memory(from, memory, options, limits, device)));
}

Texture Texture::pitched(const DevicePtr& memory, const ArrayDescriptor& descriptor,
                         std::size_t pitch, const TextureOptions& options) {
  const Device device = memory::device_of({&memory});
  const auto limits = device.backend().textures().limits();
  const TextureFormat format{descriptor.dtype, descriptor.num_channels};
  memory::require_format(format);
  require_plane(descriptor);
  require_aligned(memory, limits.alignment, 1, false);
  const TextureMemory from{TextureSource::pitched, memory.get(),      format,
                           descriptor.width,       descriptor.rows(), pitch};
  return Texture(use_of(of_memory(from, memory, options, limits, device)));
}

const TextureState& Texture::state() const {
  require<LogicError>(use_ != nullptr, "the texture was moved from");
  return *reinterpret_cast<const TextureState*>(use_->data());
}
const SurfaceState& Surface::state() const {
  require<LogicError>(use_ != nullptr, "the surface was moved from");
  return *reinterpret_cast<const SurfaceState*>(use_->data());
}

std::uint64_t Texture::handle() const { return state().object; }
Device Texture::device() const { return state().device; }
std::size_t Texture::offset() const { return state().offset; }
TextureOptions Texture::options() const { return state().options; }

CudaArray Texture::get_array() const {
  require<LogicError>(state().array != nullptr,
                      "the texture is one of memory, not of a CUDA array");
  return CudaArray(state().array);
}

AddressMode Texture::get_address_mode(int axis) const {
  require<IndexError>(axis >= 0 && axis < 3, [&] {
    return fmt::format("a texture has address modes for the axes 0, 1 and 2, not {}", axis);
  });
  return options().address_mode[static_cast<std::size_t>(axis)];
}

TextureFormat Texture::get_format() const {
  if (state().array)
    return {state().array->descriptor.dtype, state().array->descriptor.num_channels};
  return state().device.backend().textures().memory_of(state().object).format;
}

unsigned Texture::get_flags() const {
  const TextureOptions o = options();
  return (o.read_as_integer ? TRSF_READ_AS_INTEGER : 0U) |
         (o.normalized_coordinates ? TRSF_NORMALIZED_COORDINATES : 0U) | (o.srgb ? TRSF_SRGB : 0U) |
         (o.seamless_cubemap ? TRSF_SEAMLESS_CUBEMAP : 0U);
}

Surface::Surface(const CudaArray& array) {
  array.device().backend().textures();  // the CPU device has none, whatever the array
  memory::require_surface(array.descriptor());
  use_ = use_of(std::make_unique<SurfaceState>(array.state()));
}

std::uint64_t Surface::handle() const { return state().object; }
Device Surface::device() const { return state().device; }
CudaArray Surface::get_array() const { return CudaArray(state().array); }

}  // namespace quarry
