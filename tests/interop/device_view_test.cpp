// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include <quarry/device_view.cuh>

#include "array/model.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::values;

#pragma pack(push, 1)
struct Packed {
  char flag;
  std::int16_t value;
};
#pragma pack(pop)
QUARRY_RECORD(Packed, flag, value);

TEST(DeviceView, HasTheLayoutOfTheArray) {
  const auto a = zeros<double>({3, 4, 5});
  const auto view = device_view<3>(a.transpose(2, 0, 1)(range(_, _, -2)));
  EXPECT_EQ(view.extent(0), 3);
  EXPECT_EQ(view.extent(1), 3);
  EXPECT_EQ(view.extent(2), 4);
  EXPECT_EQ(view.stride(0), -2);
  EXPECT_EQ(view.stride(1), 20);
  EXPECT_EQ(view.stride(2), 5);
  EXPECT_EQ(view.size(), 36);
  EXPECT_EQ(reinterpret_cast<std::byte*>(view.data()), a.device_pointer() + 32);
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_TRUE(device_view<3>(a).is_contiguous());
  EXPECT_TRUE(device_view<2>(a(0)).is_contiguous());
  EXPECT_TRUE(device_view<2>(zeros<int>({0, 3}).transpose()).is_contiguous());
  EXPECT_EQ(device_view<0>(a(0, 0, 0)).size(), 1);
  static_assert(std::is_trivially_copyable_v<decltype(view)>);
  const DeviceNDArray<const double> constant = a;
  static_assert(std::is_same_v<decltype(device_view<3>(constant))::element_type, const double>);
}

TEST(DeviceView, RefusesOtherRanksAndBrokenStrides) {
  const auto a = zeros<float>({3, 4});
  EXPECT_THROW(device_view<1>(a), ShapeError);
  EXPECT_THROW(device_view<3>(a), ShapeError);
  const auto records = zeros<Packed>({3});
  EXPECT_THROW(device_view<1>(records.field<&Packed::value>()), LogicError);
  EXPECT_EQ(device_view<1>(records.field<&Packed::flag>()).stride(0), 3);
}

TEST(DeviceView, DrawnViewsAgreeWithTheArray) {
  const auto whole = arange<int>(210).reshape({5, 6, 7});
  if (!whole.device().is_cpu()) GTEST_SKIP() << "the elements are not on the host";
  whole.stream().synchronize();
  std::mt19937 random(5);
  const auto draw = [&](std::uint64_t extent) {
    const std::int64_t from(static_cast<std::int64_t>(random() % extent));
    return random() % 2 ? range(from, _, 1 + random() % 3) : range(from, _, -1 - int(random() % 3));
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<int> axes{0, 1, 2};
    std::shuffle(axes.begin(), axes.end(), random);
    const auto array = whole(draw(5), draw(6), draw(7)).transpose(axes);
    const auto view = device_view<3>(array);
    const auto want = values(array);
    EXPECT_EQ(std::vector<int>(view.begin(), view.end()), want);
    EXPECT_EQ(std::accumulate(view.begin(), view.end(), 0), array.sum().item());
    EXPECT_EQ(view.end() - view.begin(), array.size());
    EXPECT_EQ(view.begin()[view.size() - 1], want.back());
    EXPECT_EQ(*(view.end() - 1), want.back());
    for (std::int64_t i = 0; i < view.extent(0); ++i)
      for (std::int64_t j = 0; j < view.extent(1); ++j)
        for (std::int64_t k = 0; k < view.extent(2); ++k)
          EXPECT_EQ(view(i, j, k), array(i, j, k).item());
    EXPECT_EQ(view.is_contiguous(), array.is_c_contiguous());
    auto sorted = view.begin();
    EXPECT_EQ(&*sorted++, &view(0, 0, 0));
    EXPECT_EQ(&*--sorted, &view(0, 0, 0));
  }
  const auto column = whole(0, all, 1);
  const auto view = device_view<1>(column);
  std::sort(view.begin(), view.end(), std::greater<>());
  EXPECT_EQ(values(column), (std::vector{36, 29, 22, 15, 8, 1}));
}

#ifndef NDEBUG
TEST(DeviceViewDeathTest, AssertsThatAnElementIsThere) {
  const auto a = zeros<float>({3, 4});
  const auto view = device_view<2>(a);
  EXPECT_DEATH((void)view(0, 4), "list");
  EXPECT_DEATH((void)view(-1, 0), "list");
}
#endif

}  // namespace
}  // namespace quarry
