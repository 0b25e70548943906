// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/memory/array.hpp"

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {

std::size_t format_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

namespace {

bool has_known_elements(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const unsigned n = d.NumChannels;
  return format_bytes(d.Format) > 0 && (n == 1 || n == 2 || n == 4);
}

bool has_known_shape(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool is_layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  constexpr std::size_t most_columns = 131072, most_rows = 65536, most_planes = 16384;
  if (d.Width == 0 || d.Width > most_columns || d.Height > most_rows || d.Depth > most_planes)
    return false;
  if (is_layered ? d.Depth == 0 : d.Depth > 0 && d.Height == 0) return false;
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    const bool has_cubes = is_layered ? d.Depth % 6 == 0 : d.Depth == 6;
    if (!has_cubes || d.Width != d.Height) return false;
  }
  return (d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) == 0 || (d.Height > 0 && d.Depth == 0);
}

}  // namespace

std::size_t Array::element_bytes() const {
  return format_bytes(descriptor.Format) * descriptor.NumChannels;
}

std::optional<Array> find_array(CUarray array) {
  {
    const Guard lock(state().mutex);
    const auto found = state().arrays.find(array);
    if (found != state().arrays.end()) return *found->second;
  }
  add_fault("a handle that is no live CUDA array");
  return std::nullopt;
}

namespace entry {

CUresult array_create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
  if (const CUresult result = enter()) return result;
  constexpr unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP |
                             CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER;
  if ((wanted->Flags & ~known) != 0 || !has_known_elements(*wanted) || !has_known_shape(*wanted)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto array = std::make_unique<Array>(Array{current_device(), *wanted, 0});
  const std::size_t bytes = array->pitch() * array->rows() * array->planes();
  if (const CUresult result = state().memory.allocate(array->device, bytes, &array->memory)) {
    return result;
  }
  *out = reinterpret_cast<CUarray>(array.get());
  const Guard lock(state().mutex);
  state().arrays.emplace(array.get(), std::move(array));
  return CUDA_SUCCESS;
}

CUresult array_describe(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray array) {
  if (const CUresult result = enter()) return result;
  const auto found = find_array(array);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  *out = found->descriptor;
  return CUDA_SUCCESS;
}

/// Does not wait for the work that uses the array: the driver promises no more.
CUresult array_destroy(CUarray array) {
  if (const CUresult result = enter()) return result;
  const auto found = find_array(array);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  require_untextured(array);
  {
    const Guard lock(state().mutex);
    state().arrays.erase(array);
  }
  return state().memory.free(found->memory);
}

}  // namespace entry
}  // namespace quarry::fake
