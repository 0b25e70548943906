// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/device_attribute.hpp>

#include <algorithm>

namespace quarry {
namespace {

struct Row {
  std::string_view name, enumerator;
  DeviceAttribute attribute;
};

/// Those that have an older name, too, have it behind the newer one.
constexpr Row rows[] = {
#define QUARRY_ATTRIBUTE(name, enumerator) {#name, #enumerator, DeviceAttribute::enumerator},
#include "base/device_attribute.def"
#undef QUARRY_ATTRIBUTE
    {"GPU_OVERLAP", "gpu_overlap", DeviceAttribute::gpu_overlap},
    {"SHARED_MEMORY_PER_BLOCK", "shared_memory_per_block",
     DeviceAttribute::shared_memory_per_block},
    {"REGISTERS_PER_BLOCK", "registers_per_block", DeviceAttribute::registers_per_block},
    {"MAXIMUM_TEXTURE2D_ARRAY_WIDTH", "maximum_texture2d_array_width",
     DeviceAttribute::maximum_texture2d_array_width},
    {"MAXIMUM_TEXTURE2D_ARRAY_HEIGHT", "maximum_texture2d_array_height",
     DeviceAttribute::maximum_texture2d_array_height},
    {"MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES", "maximum_texture2d_array_numslices",
     DeviceAttribute::maximum_texture2d_array_numslices},
};

}  // namespace

std::string to_string(DeviceAttribute attribute) {
  const auto* const found = std::ranges::find(rows, attribute, &Row::attribute);
  return found == std::end(rows) ? std::to_string(static_cast<int>(attribute))
                                 : std::string(found->name);
}

std::optional<DeviceAttribute> parse_device_attribute(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      rows, [&](const Row& row) { return row.name == name || row.enumerator == name; });
  return found == std::end(rows) ? std::nullopt : std::optional(found->attribute);
}

}  // namespace quarry
