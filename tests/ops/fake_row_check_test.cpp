// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cuda/fake_device.hpp"
#include "fake_driver/shim.hpp"
#include "message_of.hpp"

/// Rows that are copied to a new array: the kernel that copies them checks their positions.
namespace quarry {
namespace {

using backend::cuda::DriverFunction;
namespace shim = backend::cuda::shim;
using fake::launches_of;
using test::message_of;

class FakeRowCheck : public backend::OverFake {
 protected:
  static constexpr std::int64_t rows = 700, columns = 24, count = 3000;
  static std::vector<std::int64_t> positions(std::int64_t last) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(i * 7919 % (2 * rows) - rows);
    all.back() = last;
    return all;
  }
  const std::string refusal = "position 700 is outside of axis 0 of extent 700";
};

TEST_F(FakeRowCheck, IsPartOfTheCopy) {
  const auto x = zeros<float>({rows, columns});
  const auto good = to_device(positions(0));
  EXPECT_EQ(launches_of([&] { eval(x(good)); }), 1);
  EXPECT_EQ(launches_of([&] { eval(take(x, good, 0)); }), 1);
  const auto picked = x(good);
  EXPECT_EQ(launches_of([&] { eval(picked); }), 1);
  EXPECT_EQ(launches_of([&] { eval(picked); }), 1) << "nothing is outside: that is known";
  const auto narrow = eval(astype<std::int16_t>(good));
  EXPECT_EQ(launches_of([&] { eval(x(narrow)); }), 1);
  const auto wide = eval(astype<std::int32_t>(good));
  EXPECT_EQ(launches_of([&] { eval(x(wide)); }), 1);
}

TEST_F(FakeRowCheck, ComesBeforeTheCopyWhereSomebodyHasTheElements) {
  const auto x = zeros<float>({rows, columns}), out = zeros<float>({count, columns});
  const auto good = to_device(positions(0));
  EXPECT_EQ(launches_of([&] { out.assign(x(good)); }), 2);
  const auto picked = x(good);
  EXPECT_EQ(launches_of([&] { eval(picked); }), 1);
  EXPECT_EQ(launches_of([&] { out.assign(picked); }), 1) << "nothing is outside: that is known";
  EXPECT_EQ(launches_of([&] { eval(x(good) + 1.f); }), 2) << "no copy";
}

/// Nothing is lost if the launch fails: the next evaluation finds out.
TEST_F(FakeRowCheck, IsMadeAgainIfItsKernelWasNotLaunched) {
  const auto x = zeros<float>({rows, columns});
  const auto bad = to_device(positions(rows)), good = to_device(positions(1));
  EXPECT_EQ(message_of<IndexError>([&] { eval(x(bad)); }), refusal);
  const auto picked = x(bad), inside = x(good);
  for (const auto& failing : {picked, inside}) {
    shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = DriverFunction::LaunchKernelEx});
    EXPECT_THROW(eval(failing), LaunchError);
  }
  EXPECT_EQ(message_of<IndexError>([&] { eval(picked); }), refusal);
  EXPECT_EQ(message_of<IndexError>([&] { eval(picked); }), refusal);
  EXPECT_EQ(sum(eval(inside)).item(), 0);
}

}  // namespace
}  // namespace quarry
