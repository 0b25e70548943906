// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <quarry/base/error.hpp>

#include "backend/cuda/array_format.hpp"
#include "backend/cuda/device.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"

/// CUDA arrays.
namespace quarry::backend::cuda {
namespace {

unsigned flags_of(const ArrayDescriptor& d) {
  return (d.layered ? CUDA_ARRAY3D_LAYERED : 0U) | (d.cubemap ? CUDA_ARRAY3D_CUBEMAP : 0U) |
         (d.surface_load_store ? CUDA_ARRAY3D_SURFACE_LDST : 0U) |
         (d.texture_gather ? CUDA_ARRAY3D_TEXTURE_GATHER : 0U);
}

CUDA_ARRAY3D_DESCRIPTOR native(const ArrayDescriptor& d) {
  CUDA_ARRAY3D_DESCRIPTOR n{};
  n.Width = d.width;
  n.Height = d.height;
  n.Depth = d.depth;
  n.Format = format_of(d.dtype);
  n.NumChannels = d.num_channels;
  n.Flags = flags_of(d);
  return n;
}

}  // namespace

void* CudaDevice::do_create_array(const ArrayDescriptor& descriptor) {
  const CUDA_ARRAY3D_DESCRIPTOR wanted = native(descriptor);
  const auto current = context_.bind();
  CUarray array = nullptr;
  const CUresult result = driver().Array3DCreate(&array, &wanted);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  require<LogicError>(result != CUDA_ERROR_INVALID_VALUE, [&] {
    return fmt::format("device {} refuses a CUDA array of {}: {}", info_.id, to_string(descriptor),
                       error_text(result));
  });
  check(result);
  return array;
}

void CudaDevice::do_destroy_array(void* array) noexcept {
  if (!array) return;
  if (const auto current = context_.try_bind())
    note(driver().ArrayDestroy(static_cast<CUarray>(array)));
}

}  // namespace quarry::backend::cuda
