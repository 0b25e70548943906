// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <cstddef>
#include <optional>

/// CUDA arrays. Their rows lie apart, so that nobody gets by with taking them for plain memory.
namespace quarry::fake {

/// Bytes of a number, 0 for a format that is not known.
std::size_t format_bytes(CUarray_format format);

/// Its address is the CUarray.
struct Array {
  int device;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  CUdeviceptr memory;

  std::size_t element_bytes() const;
  std::size_t row_bytes() const { return descriptor.Width * element_bytes(); }
  std::size_t pitch() const { return row_bytes() + gap; }
  std::size_t rows() const { return descriptor.Height ? descriptor.Height : 1; }
  std::size_t planes() const { return descriptor.Depth ? descriptor.Depth : 1; }

  static constexpr std::size_t gap = 48;
};

/// The live array behind a handle. What is none is a fault.
std::optional<Array> find_array(CUarray array);

}  // namespace quarry::fake
