// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/limit.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// Which accesses of single elements go part by part: those of many elements, without order, of an
/// array that the cache has not.
namespace quarry {
namespace {

constexpr std::int64_t many = std::int64_t{1} << 22, large = 16777259;  // larger than 60 MiB

class FakeParted : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counts the fake driver's launches";
  }
};

using fake::launches_of;

TEST_F(FakeParted, ManyElementsOfALargeArrayAreReadInThreeSteps) {
  const auto x = arange<std::int32_t>(large);
  const auto launches = [&](const auto& array, std::int64_t count) {
    const auto at = eval(arange<std::int64_t>(count) * 7919 % array.size());
    const auto picked = array(at);
    DeviceNDArray<std::int32_t> out(Shape{count});
    const auto made = launches_of([&] { out.assign(picked * 2); }) - 1;  // the check
    EXPECT_EQ(out(count - 1).item(),
              static_cast<std::int32_t>((count - 1) * 7919 % array.size()) * 2);
    return made;
  };
  EXPECT_EQ(launches(x, many), 3);
  EXPECT_EQ(launches(x, many - 1), 1);
  EXPECT_EQ(launches(x(range(0, 60 << 18)), many), 1);
}

TEST_F(FakeParted, MarksAndElementsAreWrittenInTwoStepsEach) {
  const auto x = zeros<std::int32_t>({large});
  const auto at = eval(arange<std::int64_t>(many) * 7919 % large);
  const auto place = x(at);
  const auto values = arange<std::int32_t>(many);
  const std::int64_t without_parts = launches_of([&] { x(at(range(1, _))) = values(range(1, _)); });
  EXPECT_EQ(launches_of([&] { x(at) = values; }), without_parts + 2);  // marks, and values
  EXPECT_EQ(x(7919).item(), 1);
}

/// Whose vectors are as wide as they get.
TEST_F(FakeParted, BytesAreWrittenWherePositionsOfBytesSay) {
  const auto x = zeros<std::int8_t>({256, 256, 256, 4});
  const auto k = arange<std::int64_t>(many);
  const auto byte = [](const auto& number) { return eval(astype<std::uint8_t>(number)); };
  const auto h = byte(k * 7 % 256), i = byte(floor_divide(k, 256) % 256),
             j = byte(floor_divide(k, 65536)), l = byte(k % 4);
  const auto values = eval(astype<std::int8_t>(k % 101));
  const auto place = x(h, i, j, l);
  EXPECT_GT(launches_of([&] { place.assign(values); }), 3);
  EXPECT_EQ(eval(sum(x(h, i, j, l) != values)).item(), 0);
}

TEST_F(FakeParted, WithoutMemoryForThemElementsAreReadWhereTheyAre) {
  const auto x = arange<std::int32_t>(large);
  const auto at = eval(arange<std::int64_t>(many) * 7919 % large);
  const auto picked = x(at);
  DeviceNDArray<std::int32_t> out(Shape{many});
  const ResourceGuard guard{Limit(current_resource(), many)};
  EXPECT_EQ(launches_of([&] { out.assign(picked); }), 1 + 1);  // the check
  EXPECT_EQ(out(1).item(), 7919);
}

}  // namespace
}  // namespace quarry
