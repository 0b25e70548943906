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

/// Values of rows are written by the owners of their places, which are found before.
TEST_F(FakeRowCheck, IsPartOfFindingOwners) {
  const auto x = zeros<float>({rows, columns}), values = ones<float>({count, columns});
  const auto good = to_device(positions(0)), bad = to_device(positions(rows));
  EXPECT_EQ(launches_of([&] { x(good) = values; }), 2);
  const auto there = x(good);
  EXPECT_EQ(launches_of([&] { eval(there); }), 1);
  EXPECT_EQ(launches_of([&] { there.assign(values); }), 2) << "nothing is outside: that is known";
  x.fill(0);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(message_of<IndexError>([&] { x(bad) = values; }), refusal);
  }
  const auto none = x(bad);
  EXPECT_EQ(message_of<IndexError>([&] { eval(none); }), refusal);
  EXPECT_EQ(message_of<IndexError>([&] { none.assign(values); }), refusal);
  EXPECT_EQ(sum(x).item(), 0);
  // more blocks than are there at once
  const std::vector<std::int64_t> many(2'000'000, 3);
  EXPECT_EQ(launches_of([&] { x(to_device(many)) = ones<float>({2'000'000, columns}); }), 3);
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

TEST_F(FakeRowCheck, IsMadeAgainIfOwnersWereNotFound) {
  const auto x = zeros<float>({rows, columns}), values = ones<float>({count, columns});
  const auto outside = x(to_device(positions(rows))), inside = x(to_device(positions(1)));
  for (const auto& failing : {outside, inside}) {
    shim::inject({.code = CUDA_ERROR_INVALID_VALUE, .function = DriverFunction::LaunchKernelEx});
    EXPECT_THROW(failing.assign(values), LaunchError);
  }
  EXPECT_EQ(message_of<IndexError>([&] { outside.assign(values); }), refusal);
  EXPECT_EQ(sum(x).item(), 0);
  inside.assign(values);
  EXPECT_EQ(sum(x).item(), rows * columns);
}

}  // namespace
}  // namespace quarry
