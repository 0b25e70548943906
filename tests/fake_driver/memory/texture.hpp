// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <optional>

/// Texture objects and surface objects over arrays and memory.
namespace quarry::fake {

struct Texture {
  int device;
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC sampling = {};  ///< not of surfaces
  bool is_surface = false;

  bool reads(CUarray array) const {
    return resource.resType == CU_RESOURCE_TYPE_ARRAY && resource.res.array.hArray == array;
  }
  /// Whether it reads memory of [start, start + bytes).
  bool reads(CUdeviceptr start, std::size_t bytes) const;
};

/// The elements of a texture or a surface: rows that lie apart.
struct Texels {
  CUdeviceptr memory;
  std::size_t element_bytes, width, rows, planes, pitch;

  CUdeviceptr address(std::size_t x, std::size_t y, std::size_t z) const {
    return memory + (z * rows + y) * pitch + x * element_bytes;
  }
};
/// Of a live object of the device. What is none is a fault.
std::optional<Texels> find_texels(CUtexObject object, int device);

/// A fault where a live texture or surface reads what is about to be freed.
void require_untextured(CUarray array);
void require_untextured(CUdeviceptr start, std::size_t bytes);

}  // namespace quarry::fake
