// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <gtest/gtest.h>

#include <vector>

#include <quarry/memory/host_allocation.hpp>

namespace quarry {
namespace {

TEST(FromDevice, ReadsTheMemoryInTheOrderThatIsAskedFor) {
  const auto a = arange<float>(6);
  const auto rows = from_device<float>(a, {2, 3});
  const auto columns = from_device<float>(a, {2, 3}, Order::f);
  EXPECT_EQ(rows.layout(), xt::layout_type::row_major);
  EXPECT_EQ(columns.layout(), xt::layout_type::column_major);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(rows(i, j), 3 * i + j);
      EXPECT_EQ(columns(i, j), i + 2 * j);
    }
  }
  EXPECT_EQ(from_device<float>(DevicePtr(a) + 8, {2})(1), 3);
  EXPECT_EQ(from_device<float>(a, {0, 3}).size(), 0u);
}

TEST(FromDevice, ReadsAsAnotherArrayIs) {
  const auto a = arange<int>(6);
  xt::xarray<int, xt::layout_type::column_major> other =
      xt::xarray<int, xt::layout_type::column_major>::from_shape({2, 3});
  const auto columns = from_device_like(a, other);
  EXPECT_EQ(columns(1, 0), 1);
  EXPECT_EQ(columns(0, 1), 2);
  const auto rows = from_device_like(a, zeros<int>({3, 2}));
  EXPECT_EQ(rows(1, 0), 2);
  EXPECT_EQ(from_device_like(a, std::vector<int>(4))(3), 3);
  const auto strided = zeros<int>({3, 4});
  EXPECT_THROW(from_device_like(a, strided(all, range(0, 2))), LogicError);
}

TEST(FromDevice, WhatIsNotThereIsRefused) {
  const auto a = arange<int>(6);
  EXPECT_THROW(from_device<int>(a, {7}), LogicError);
}

TEST(PagelockedEmpty, CanBeMapped) {
  auto p = pagelocked_empty<int>({10, 20}, {.order = Order::f, .mapped = true});
  p.fill(3);
  const HostPointer base = base_of(p);
  EXPECT_TRUE(base.get_flags().mapped);
  const DeviceNDArray<int> seen(Layout{Shape{200}, Strides{4}}, base.get_device_pointer(),
                                base.buffer());
  seen += 4;
  synchronize();
  EXPECT_EQ(p(9, 19), 7);
}

}  // namespace
}  // namespace quarry
