// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/array_descriptor.hpp>

#include <gtest/gtest.h>

namespace quarry {
namespace {

TEST(ArrayDescriptor, CountsTheBytesOfEveryForm) {
  constexpr ArrayDescriptor row{.width = 10, .dtype = TypeId::int16, .num_channels = 4};
  static_assert(row.element_bytes() == 8 && row.row_bytes() == 80 && row.bytes() == 80);
  static_assert(row.rows() == 1 && row.planes() == 1 && row.is_one_dimensional());
  constexpr ArrayDescriptor plane{.width = 10, .height = 3, .dtype = TypeId::uint8};
  static_assert(plane.bytes() == 30 && !plane.is_one_dimensional());
  constexpr ArrayDescriptor block{.width = 10, .height = 3, .depth = 2};
  static_assert(block.bytes() == 240 && block.planes() == 2);
  constexpr ArrayDescriptor layers{.width = 10, .depth = 2, .layered = true};
  EXPECT_EQ(layers.bytes(), 80U);
  EXPECT_FALSE(layers.is_one_dimensional());
  EXPECT_NE(layers, block);
}

TEST(ArrayDescriptor, HasAText) {
  ArrayDescriptor d{.width = 8, .height = 8, .depth = 6, .dtype = TypeId::uint8, .num_channels = 4};
  EXPECT_EQ(to_string(d), "8 x 8 x 6 of 4 x uint8");
  d.layered = d.cubemap = d.surface_load_store = d.texture_gather = true;
  EXPECT_EQ(to_string(d),
            "8 x 8 x 6 of 4 x uint8, layered, cubemap, surface load and store, texture gather");
}

}  // namespace
}  // namespace quarry
