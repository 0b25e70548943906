// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/texture_options.hpp>
#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/device_pointer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

/// Textures and surfaces as objects, which take the place of CUDA's references: a kernel has a
/// parameter `cudaTextureObject_t` or `cudaSurfaceObject_t`, and gets a Texture or a Surface as its
/// argument. Only GPUs have them: on the CPU device LogicError is thrown.
namespace quarry {

namespace detail {
struct TextureState;
struct SurfaceState;
}  // namespace detail

/// A CUDA array, or memory of the device, and how kernels read it; neither can be changed. A
/// handle: copies are of the same object. The array or the memory lives as long as its textures,
/// and the object is destroyed after its last handle, when the kernels that got it are done. What
/// writes the elements and what reads them has to be ordered by streams or events. After a move
/// every member throws LogicError.
class Texture {
 public:
  /// All of a CUDA array, with the coordinates of its axes; a cubemap's are a direction, and
  /// normalised in any case. Throws LogicError for options that the elements or the axes do not
  /// allow.
  explicit Texture(const CudaArray& array, const TextureOptions& options = {});
  /// Elements in a row, for tex1Dfetch: PyCUDA's set_address. GPUs require the first one at a
  /// multiple of the attribute TEXTURE_ALIGNMENT. If `memory` is none, the texture begins offset()
  /// bytes before it with `allow_offset`, and LogicError is thrown without. `memory` is an array,
  /// an allocation, or an address, whose memory is not kept alive. Throws LogicError, also for a
  /// linear filter, normalised coordinates, bytes that are no whole elements, and bytes beyond the
  /// memory.
  static Texture linear(const DevicePtr& memory, std::size_t bytes, const TextureFormat& format,
                        const TextureOptions& options = {}, bool allow_offset = false);
  /// Rows of elements, for tex2D: PyCUDA's set_address_2d. Width, height, dtype and channels are
  /// those of `descriptor`; a row begins `pitch` bytes behind the one before. The first row begins
  /// at a multiple of TEXTURE_ALIGNMENT, and the pitch is one of TEXTURE_PITCH_ALIGNMENT, as
  /// mem_alloc_pitch makes them. Otherwise as linear().
  static Texture pitched(const DevicePtr& memory, const ArrayDescriptor& descriptor,
                         std::size_t pitch, const TextureOptions& options = {});

  std::uint64_t handle() const;  ///< the cudaTextureObject_t
  Device device() const;         ///< whose kernels can read it
  /// Bytes from the first element of the texture to the memory that linear() was given; else 0.
  std::size_t offset() const;
  /// As the driver has them. `read_as_integer` is false for elements that are no integers.
  TextureOptions options() const;

  ///@{
  /// As PyCUDA's TextureReference. get_array() throws LogicError for a texture of memory,
  /// get_address_mode() IndexError for an axis that is not 0, 1 or 2; get_flags() has the bits
  /// TRSF_*.
  CudaArray get_array() const;
  AddressMode get_address_mode(int axis) const;
  FilterMode get_filter_mode() const { return options().filter_mode; }
  TextureFormat get_format() const;
  unsigned get_flags() const;
  ///@}

  /// For launches: stands for the object and its memory.
  const std::shared_ptr<Buffer>& kernel_use() const { return use_; }

 private:
  explicit Texture(std::shared_ptr<Buffer> use) : use_(std::move(use)) {}
  const detail::TextureState& state() const;

  std::shared_ptr<Buffer> use_;  ///< whose memory is the state
};

///@{
/// PyCUDA's flags, as Texture::get_flags() has them.
inline constexpr unsigned TRSF_READ_AS_INTEGER = 0x01;
inline constexpr unsigned TRSF_NORMALIZED_COORDINATES = 0x02;
inline constexpr unsigned TRSF_SRGB = 0x10;
inline constexpr unsigned TRSF_SEAMLESS_CUBEMAP = 0x40;
///@}

/// A CUDA array that kernels read and write. A handle, as Texture: the array lives as long. A
/// kernel does not see through a texture what it has itself written.
class Surface {
 public:
  /// Throws LogicError unless the array was made with `surface_load_store`.
  explicit Surface(const CudaArray& array);

  std::uint64_t handle() const;  ///< the cudaSurfaceObject_t
  Device device() const;         ///< whose kernels can use it
  CudaArray get_array() const;   ///< another handle of the array

  /// For launches: stands for the object and its array.
  const std::shared_ptr<Buffer>& kernel_use() const { return use_; }

 private:
  const detail::SurfaceState& state() const;

  std::shared_ptr<Buffer> use_;  ///< whose memory is the state
};

}  // namespace quarry
