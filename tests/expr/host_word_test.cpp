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

/// Work that runs only when the host asks for the stream: how much of it is left when the host has
/// the number of a kernel with more work behind it.
std::size_t left_by_wait(ContextFlags flags) {
  const fake::Behaviour before = fake::behaviour();
  fake::set_behaviour({.eagerness = 0});
  const auto seven = full<std::int64_t>({}, 7), behind = zeros<std::int64_t>({4});
  default_stream().synchronize();
  get_current_device().make_context(flags).pop();
  std::size_t left = 0;
  {
    const expr::HostWord word(default_stream());
    word.array().assign(seven + 0);
    for (int i = 0; i < 20; ++i) behind.fill(2);
    EXPECT_EQ(word.wait(), 7);
    left = fake::pending();
  }
  fake::set_behaviour(before);
  return left;
}

TEST(HostWords, AreThereBeforeTheWorkBehindThem) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "asks the fake driver what is queued";
  EXPECT_EQ(left_by_wait(ContextFlags::sched_blocking_sync), 0u) << "the thread is to sleep";
  EXPECT_EQ(left_by_wait(ContextFlags::sched_yield), 0u);
  EXPECT_GT(left_by_wait(ContextFlags::sched_spin), 0u);
}

}  // namespace
}  // namespace quarry
