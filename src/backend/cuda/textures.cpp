// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/textures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <quarry/base/error.hpp>

#include "backend/cuda/array_format.hpp"
#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/native.hpp"
#include "base/forked.hpp"

namespace quarry::backend::cuda {
namespace {

CUDA_RESOURCE_DESC resource_of_array(void* array) {
  CUDA_RESOURCE_DESC r{};
  r.resType = CU_RESOURCE_TYPE_ARRAY;
  r.res.array.hArray = static_cast<CUarray>(array);
  return r;
}

CUDA_RESOURCE_DESC native(const TextureMemory& m) {
  if (m.source == TextureSource::array) return resource_of_array(m.memory);
  CUDA_RESOURCE_DESC r{};
  if (m.source == TextureSource::linear) {
    r.resType = CU_RESOURCE_TYPE_LINEAR;
    r.res.linear.devPtr = address(m.memory);
    r.res.linear.format = format_of(m.format.dtype);
    r.res.linear.numChannels = m.format.num_channels;
    r.res.linear.sizeInBytes = m.width * m.format.element_bytes();
  } else {
    r.resType = CU_RESOURCE_TYPE_PITCH2D;
    r.res.pitch2D.devPtr = address(m.memory);
    r.res.pitch2D.format = format_of(m.format.dtype);
    r.res.pitch2D.numChannels = m.format.num_channels;
    r.res.pitch2D.width = m.width;
    r.res.pitch2D.height = m.height;
    r.res.pitch2D.pitchInBytes = m.pitch;
  }
  return r;
}

TextureMemory memory_from(const CUDA_RESOURCE_DESC& r) {
  if (r.resType == CU_RESOURCE_TYPE_LINEAR) {
    const auto& l = r.res.linear;
    const TextureFormat format{type_of(l.format), l.numChannels};
    return {TextureSource::linear, pointer(l.devPtr), format,
            l.sizeInBytes / format.element_bytes()};
  }
  if (r.resType == CU_RESOURCE_TYPE_PITCH2D) {
    const auto& p = r.res.pitch2D;
    return {TextureSource::pitched,
            pointer(p.devPtr),
            {type_of(p.format), p.numChannels},
            p.width,
            p.height,
            p.pitchInBytes};
  }
  return {TextureSource::array, r.res.array.hArray};
}

CUDA_TEXTURE_DESC native(const TextureOptions& o) {
  CUDA_TEXTURE_DESC d{};
  for (std::size_t axis = 0; axis < o.address_mode.size(); ++axis) {
    d.addressMode[axis] = static_cast<CUaddress_mode>(o.address_mode[axis]);
  }
  d.filterMode = static_cast<CUfilter_mode>(o.filter_mode);
  d.flags = (o.read_as_integer ? CU_TRSF_READ_AS_INTEGER : 0U) |
            (o.normalized_coordinates ? CU_TRSF_NORMALIZED_COORDINATES : 0U) |
            (o.srgb ? CU_TRSF_SRGB : 0U) | (o.seamless_cubemap ? CU_TRSF_SEAMLESS_CUBEMAP : 0U);
  d.maxAnisotropy = o.max_anisotropy;
  std::ranges::copy(o.border_color, d.borderColor);
  return d;
}

std::string describe(const TextureMemory& m) {
  switch (m.source) {
    case TextureSource::linear:
      return fmt::format("{} elements of {} in memory", m.width, to_string(m.format));
    case TextureSource::pitched:
      return fmt::format("{} rows of {} elements of {}, {} bytes apart", m.height, m.width,
                         to_string(m.format), m.pitch);
    default:
      return "a CUDA array";
  }
}

std::size_t attribute(CUdevice device, CUdevice_attribute name) {
  int value = 0;
  check(driver().DeviceGetAttribute(&value, name, device));
  return static_cast<std::size_t>(std::max(value, 1));
}

}  // namespace

TextureLimits CudaTextures::limits() {
  return {attribute(device_, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
          attribute(device_, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT)};
}

std::uint64_t CudaTextures::create_texture(const TextureMemory& memory,
                                           const TextureOptions& options) {
  const CUDA_RESOURCE_DESC resource = native(memory);
  const CUDA_TEXTURE_DESC sampling = native(options);
  const auto current = context_->bind();
  CUtexObject texture = 0;
  const CUresult result = driver().TexObjectCreate(&texture, &resource, &sampling, nullptr);
  require<LogicError>(result != CUDA_ERROR_INVALID_VALUE, [&] {
    return fmt::format("device {} refuses a texture of {}: {}", context_->id(), describe(memory),
                       error_text(result));
  });
  check(result);
  ledger_->add(Owned::texture, this, 0);
  return texture;
}

void CudaTextures::destroy_texture(std::uint64_t texture) noexcept {
  if (is_forked()) return;
  ledger_->remove(Owned::texture, this);
  if (const auto current = context_->try_bind()) note(driver().TexObjectDestroy(texture));
}

TextureMemory CudaTextures::memory_of(std::uint64_t texture) {
  const auto current = context_->bind();
  CUDA_RESOURCE_DESC resource{};
  check(driver().TexObjectGetResourceDesc(&resource, texture));
  return memory_from(resource);
}

std::uint64_t CudaTextures::create_surface(void* array) {
  const CUDA_RESOURCE_DESC resource = resource_of_array(array);
  const auto current = context_->bind();
  CUsurfObject surface = 0;
  const CUresult result = driver().SurfObjectCreate(&surface, &resource);
  require<LogicError>(result != CUDA_ERROR_INVALID_VALUE, [&] {
    return fmt::format("device {} refuses a surface: {}", context_->id(), error_text(result));
  });
  check(result);
  ledger_->add(Owned::texture, this, 0);
  return surface;
}

void CudaTextures::destroy_surface(std::uint64_t surface) noexcept {
  if (is_forked()) return;
  ledger_->remove(Owned::texture, this);
  if (const auto current = context_->try_bind()) note(driver().SurfObjectDestroy(surface));
}

void* CudaTextures::array_of(std::uint64_t surface) {
  const auto current = context_->bind();
  CUDA_RESOURCE_DESC resource{};
  check(driver().SurfObjectGetResourceDesc(&resource, surface));
  return resource.res.array.hArray;
}

}  // namespace quarry::backend::cuda
