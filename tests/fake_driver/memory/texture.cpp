// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/memory/texture.hpp"

#include <algorithm>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"

namespace quarry::fake {
namespace {

constexpr std::size_t alignment = 512, pitch_alignment = 32, most_elements = std::size_t{1} << 28,
                      most_columns = 131072, most_rows = 65000, longest_pitch = 2097120;

bool is_element(CUarray_format format, unsigned channels) {
  return format_bytes(format) > 0 && (channels == 1 || channels == 2 || channels == 4);
}

bool is_memory(CUdeviceptr start, std::size_t bytes) {
  return start % alignment == 0 && bytes > 0 && state().memory.look(start, bytes);
}

/// What the driver needs to know of a resource: its format, its axes, whether it is a cube.
struct Kind {
  CUarray_format format;
  int axes;
  bool is_cube = false;
};

std::optional<Kind> kind_of_array(CUarray handle) {
  const std::optional<Array> array = handle ? find_array(handle) : std::nullopt;
  if (!array || array->device != current_device()) return std::nullopt;
  const CUDA_ARRAY3D_DESCRIPTOR& d = array->descriptor;
  const bool is_cube = (d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  const bool is_layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  const int axes = 1 + (d.Height > 0 ? 1 : 0) + (d.Depth > 0 && !is_layered ? 1 : 0);
  return Kind{d.Format, is_cube ? 0 : axes, is_cube};
}

std::optional<Kind> kind_of(const CUDA_RESOURCE_DESC& r) {
  if (r.flags != 0) return std::nullopt;
  if (r.resType == CU_RESOURCE_TYPE_ARRAY) return kind_of_array(r.res.array.hArray);
  if (r.resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& l = r.res.linear;
    if (!is_element(l.format, l.numChannels) || !is_memory(l.devPtr, l.sizeInBytes) ||
        l.sizeInBytes / (format_bytes(l.format) * l.numChannels) > most_elements) {
      return std::nullopt;
    }
    return Kind{l.format, 0};
  }
  if (r.resType != CU_RESOURCE_TYPE_PITCH2D) return std::nullopt;
  const auto& p = r.res.pitch2D;
  const std::size_t row = p.width * format_bytes(p.format) * p.numChannels;
  if (!is_element(p.format, p.numChannels) || p.width == 0 || p.width > most_columns ||
      p.height == 0 || p.height > most_rows || p.pitchInBytes < row ||
      p.pitchInBytes > longest_pitch || p.pitchInBytes % pitch_alignment != 0 ||
      !is_memory(p.devPtr, p.pitchInBytes * (p.height - 1) + row)) {
    return std::nullopt;
  }
  return Kind{p.format, 2};
}

/// Whether kernels read floats.
bool is_float(CUarray_format format, unsigned flags) {
  if (format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT) return true;
  return (flags & CU_TRSF_READ_AS_INTEGER) == 0 && format_bytes(format) < 4;
}

bool is_valid(const CUDA_TEXTURE_DESC& d, const Kind& kind, bool is_linear) {
  constexpr unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                             CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                             CU_TRSF_SEAMLESS_CUBEMAP;
  if ((d.flags & ~known) != 0 || d.filterMode > CU_TR_FILTER_MODE_LINEAR) return false;
  if ((d.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0 && !kind.is_cube) return false;
  if (!is_linear && d.filterMode == CU_TR_FILTER_MODE_LINEAR && !is_float(kind.format, d.flags)) {
    return false;
  }
  const bool is_normalized = (d.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  return std::all_of(d.addressMode, d.addressMode + kind.axes, [&](CUaddress_mode mode) {
    const bool repeats = mode == CU_TR_ADDRESS_MODE_WRAP || mode == CU_TR_ADDRESS_MODE_MIRROR;
    return mode <= CU_TR_ADDRESS_MODE_BORDER && (is_normalized || !repeats);
  });
}

CUtexObject add(const Texture& texture) {
  const Guard lock(state().mutex);
  const CUtexObject handle = state().next_texture++;
  state().textures.emplace(handle, texture);
  return handle;
}

/// The live object with this handle. What is none is a fault.
std::optional<Texture> find(CUtexObject handle, bool is_surface) {
  {
    const Guard lock(state().mutex);
    const auto found = state().textures.find(handle);
    if (found != state().textures.end() && found->second.is_surface == is_surface) {
      return found->second;
    }
  }
  add_fault(is_surface ? "a handle that is no live surface" : "a handle that is no live texture");
  return std::nullopt;
}

CUresult destroy(CUtexObject handle, bool is_surface) {
  if (const CUresult result = enter()) return result;
  if (!find(handle, is_surface)) return CUDA_ERROR_INVALID_VALUE;
  const Guard lock(state().mutex);
  state().textures.erase(handle);
  return CUDA_SUCCESS;
}

template <class Reads>
void require_none(const char* what, Reads reads) {
  const Guard lock(state().mutex);
  const bool any =
      std::ranges::any_of(state().textures, [&](const auto& entry) { return reads(entry.second); });
  if (any) add_fault(std::string(what) + " of a live texture or surface is freed");
}

}  // namespace

bool Texture::reads(CUdeviceptr start, std::size_t bytes) const {
  const bool is_linear = resource.resType == CU_RESOURCE_TYPE_LINEAR;
  if (!is_linear && resource.resType != CU_RESOURCE_TYPE_PITCH2D) return false;
  const CUdeviceptr first = is_linear ? resource.res.linear.devPtr : resource.res.pitch2D.devPtr;
  return first >= start && first - start < bytes;
}

std::optional<Texels> find_texels(CUtexObject object, int device) {
  std::optional<Texture> texture;
  {
    const Guard lock(state().mutex);
    const auto found = state().textures.find(object);
    if (found != state().textures.end()) texture = found->second;
  }
  if (!texture || texture->device != device) {
    add_fault("a kernel reads what is no live texture or surface");
    return std::nullopt;
  }
  if (texture->resource.resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& l = texture->resource.res.linear;
    const std::size_t element = format_bytes(l.format) * l.numChannels;
    return Texels{l.devPtr, element, l.sizeInBytes / element, 1, 1, 0};
  }
  if (texture->resource.resType == CU_RESOURCE_TYPE_PITCH2D) {
    const auto& p = texture->resource.res.pitch2D;
    return Texels{p.devPtr,      format_bytes(p.format) * p.numChannels, p.width, p.height, 1,
                  p.pitchInBytes};
  }
  const auto array = find_array(texture->resource.res.array.hArray);
  if (!array) return std::nullopt;
  return Texels{array->memory, array->element_bytes(), array->descriptor.Width,
                array->rows(), array->planes(),        array->pitch()};
}

void require_untextured(CUarray array) {
  require_none("the array", [&](const Texture& texture) { return texture.reads(array); });
}
void require_untextured(CUdeviceptr start, std::size_t bytes) {
  require_none("memory", [&](const Texture& texture) { return texture.reads(start, bytes); });
}

namespace entry {

CUresult texture_create(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                        const CUDA_TEXTURE_DESC* sampling, const CUDA_RESOURCE_VIEW_DESC* view) {
  if (const CUresult result = enter()) return result;
  const std::optional<Kind> kind = kind_of(*resource);
  const bool is_linear = resource->resType == CU_RESOURCE_TYPE_LINEAR;
  if (!kind || view || !is_valid(*sampling, *kind, is_linear)) return CUDA_ERROR_INVALID_VALUE;
  *out = add({current_device(), *resource, *sampling});
  return CUDA_SUCCESS;
}

CUresult texture_destroy(CUtexObject texture) { return destroy(texture, false); }

CUresult texture_resource(CUDA_RESOURCE_DESC* out, CUtexObject texture) {
  if (const CUresult result = enter()) return result;
  const auto found = find(texture, false);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *out = found->resource;
  return CUDA_SUCCESS;
}

CUresult texture_sampling(CUDA_TEXTURE_DESC* out, CUtexObject texture) {
  if (const CUresult result = enter()) return result;
  const auto found = find(texture, false);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *out = found->sampling;
  return CUDA_SUCCESS;
}

CUresult surface_create(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  if (const CUresult result = enter()) return result;
  if (resource->resType != CU_RESOURCE_TYPE_ARRAY || !kind_of(*resource)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto array = find_array(resource->res.array.hArray);
  if ((array->descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = add({current_device(), *resource, {}, true});
  return CUDA_SUCCESS;
}

CUresult surface_destroy(CUsurfObject surface) { return destroy(surface, true); }

CUresult surface_resource(CUDA_RESOURCE_DESC* out, CUsurfObject surface) {
  if (const CUresult result = enter()) return result;
  const auto found = find(surface, true);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *out = found->resource;
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace quarry::fake
