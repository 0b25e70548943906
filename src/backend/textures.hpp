// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <cstdint>

#include <quarry/base/texture_options.hpp>

/// Texture objects and surface objects, which only GPUs have.
namespace quarry::backend {

/// What a texture reads: a CUDA array, elements in a row, or rows of elements.
enum class TextureSource { array, linear, pitched };
struct TextureMemory {
  TextureSource source = TextureSource::array;
  void* memory = nullptr;             ///< the handle of the array, or the first element
  TextureFormat format = {};          ///< of the elements; a CUDA array has its own
  std::size_t width = 0, height = 0;  ///< in elements; a CUDA array has its own
  std::size_t pitch = 0;              ///< bytes from one row to the next
};

/// In bytes: what the first element in memory and the pitch are multiples of.
struct TextureLimits {
  std::size_t alignment = 1, pitch_alignment = 1;
};

/// Objects are the 64-bit numbers that kernels take. Arguments are checked by the layers above:
/// what the driver refuses all the same is a LogicError. No pending work may use what is destroyed,
/// and memory and arrays live longer than their textures and surfaces.
class Textures {
 public:
  virtual ~Textures() = default;

  virtual TextureLimits limits() = 0;
  virtual std::uint64_t create_texture(const TextureMemory& memory,
                                       const TextureOptions& options) = 0;
  virtual void destroy_texture(std::uint64_t texture) noexcept = 0;
  virtual TextureMemory memory_of(std::uint64_t texture) = 0;  ///< as the driver knows it
  virtual std::uint64_t create_surface(void* array) = 0;
  virtual void destroy_surface(std::uint64_t surface) noexcept = 0;
  /// The handle of its CUDA array.
  virtual void* array_of(std::uint64_t surface) = 0;
};

}  // namespace quarry::backend
