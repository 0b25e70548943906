// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/device_attribute.hpp>
#include <quarry/base/graphics.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>

namespace quarry {
namespace {

TEST(DeviceAttribute, HasTheNumberOfTheDriver) {
  EXPECT_EQ(static_cast<int>(DeviceAttribute::max_threads_per_block), 1);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::clock_rate), 13);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::gpu_overlap), 15);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::compute_mode), 20);
  EXPECT_EQ(static_cast<int>(DeviceAttribute::compute_capability_major), 75);
}

TEST(DeviceAttribute, EachNameIsOfOneNumberAndIsReadInCapitalAndInSmallLetters) {
  std::set<std::string> names;
  for (int number = 1; number < 200; ++number) {
    const auto attribute = static_cast<DeviceAttribute>(number);
    const std::string name = to_string(attribute);
    if (name == std::to_string(number)) continue;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(parse_device_attribute(name), attribute) << name;
    std::string small;
    for (const char c : name) small += static_cast<char>(std::tolower(c));
    EXPECT_EQ(parse_device_attribute(small), attribute) << small;
  }
  EXPECT_EQ(names.size(), 122U);  // those of CUDA 12.0, with GPU_OVERLAP
}

TEST(DeviceAttribute, OlderNamesAreOfTheSameAttribute) {
  const std::map<std::string, DeviceAttribute> older = {
      {"SHARED_MEMORY_PER_BLOCK", DeviceAttribute::max_shared_memory_per_block},
      {"REGISTERS_PER_BLOCK", DeviceAttribute::max_registers_per_block},
      {"GPU_OVERLAP", DeviceAttribute::gpu_overlap},
      {"MAXIMUM_TEXTURE2D_ARRAY_WIDTH", DeviceAttribute::maximum_texture2d_layered_width},
      {"MAXIMUM_TEXTURE2D_ARRAY_HEIGHT", DeviceAttribute::maximum_texture2d_layered_height},
      {"MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES", DeviceAttribute::maximum_texture2d_layered_layers}};
  for (const auto& [name, attribute] : older) EXPECT_EQ(parse_device_attribute(name), attribute);
  EXPECT_EQ(DeviceAttribute::shared_memory_per_block, DeviceAttribute::max_shared_memory_per_block);
  EXPECT_EQ(to_string(DeviceAttribute::registers_per_block), "MAX_REGISTERS_PER_BLOCK");
}

TEST(DeviceAttribute, OtherTextIsNoName) {
  for (const char* const text : {"", "WARP", "Warp_Size", "WARP_SIZE ", "10"}) {
    EXPECT_EQ(parse_device_attribute(text), std::nullopt) << text;
  }
}

TEST(GraphicsConstants, HaveTheNumbersOfTheDriver) {
  using Face = ArrayCubemapFace;
  int face = 0;
  for (const Face named : {Face::positive_x, Face::negative_x, Face::positive_y, Face::negative_y,
                           Face::positive_z, Face::negative_z}) {
    EXPECT_EQ(static_cast<int>(named), face++);
  }
  using Flags = GraphicsRegisterFlags;
  EXPECT_EQ(static_cast<unsigned>(Flags::none), 0U);
  EXPECT_EQ(static_cast<unsigned>(Flags::read_only | Flags::surface_ldst), 5U);
  EXPECT_EQ(static_cast<unsigned>(Flags::write_discard | Flags::texture_gather), 10U);
}

TEST(ComputeModes, HaveTheNumbersOfTheDriver) {
  EXPECT_EQ(static_cast<int>(ComputeMode::default_), 0);
  EXPECT_EQ(static_cast<int>(ComputeMode::prohibited), 2);
  EXPECT_EQ(static_cast<int>(ComputeMode::exclusive_process), 3);
}

}  // namespace
}  // namespace quarry
