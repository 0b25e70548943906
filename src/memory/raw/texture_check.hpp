// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/texture_options.hpp>
#include <quarry/memory/device_pointer.hpp>

#include "backend/textures.hpp"

/// What the driver would refuse, or ignore, without a word of why. All throw LogicError.
namespace quarry::memory {

/// A CUDA array with these options.
void require_texture(const ArrayDescriptor& array, const TextureOptions& options);
/// Elements in a row, or rows of them, in memory of `device`: `m.memory` is where `memory` begins,
/// or before it.
void require_texture(const backend::TextureMemory& m, const DevicePtr& memory,
                     const TextureOptions& options, const backend::TextureLimits& limits,
                     const Device& device);
/// Numbers that textures have.
void require_format(const TextureFormat& format);
/// That kernels may write to it.
void require_surface(const ArrayDescriptor& array);

}  // namespace quarry::memory
