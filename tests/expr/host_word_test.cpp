// SPDX-License-Identifier: BSD-3-Clause
#include "expr/host_word.hpp"

#include "array/model.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

/// Numbers that kernels leave for the host: each is that of its own kernel, though the memory was
/// that of another one before.
namespace quarry {
namespace {

DeviceNDArray<bool> mask_of(const std::vector<std::uint8_t>& chosen) {
  return eval(to_device(chosen) != 0);
}

TEST(HostWords, AreThoseOfTheirOwnKernels) {
  const auto x = zeros<float>({4}), y = arange<float>(5);
  const auto three = mask_of({1, 0, 1, 1}), four = mask_of({1, 1, 0, 1, 1});
  const auto values = arange<float>(3);
  for (int i = 0; i < 100; ++i) {
    x(three) = values;
    const DeviceNDArray<float> kept = y(four);
    EXPECT_EQ(kept.size(), 4);
    EXPECT_EQ(test::values(kept), (std::vector<float>{0, 1, 3, 4}));
  }
}

TEST(HostWords, ThatNobodyWaitsForAreWaitedFor) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "asks the fake driver what is queued";
  const fake::Behaviour before = fake::behaviour();
  fake::set_behaviour({.eagerness = 0});
  {
    const expr::HostWord word(default_stream());
    word.array().fill(7);
    EXPECT_GT(fake::pending(), 0u);
  }
  EXPECT_EQ(fake::pending(), 0u) << "a kernel writes where the next number is awaited";
  fake::set_behaviour(before);
}

}  // namespace
}  // namespace quarry
