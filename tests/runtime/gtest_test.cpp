// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/gtest.hpp>

#include <quarry/quarry.hpp>

#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

/// What the tests below have left to be looked at.
int runs = 0;
const auto last = context_dependent_memoize([](int n) { return ones<float>({n}); });

QUARRY_CUDA_TEST(CudaTests, RunWhereAGpuCanBeUsed) {
  ++runs;
  EXPECT_FALSE(get_current_device().is_cpu());
  const auto a = last(1000);
  EXPECT_EQ(sum(a + 1.f).item(), 2000);
}

QUARRY_CUDA_TEST(CudaTests, MayChangeTheDevice) {
  ++runs;
  select_device(static_cast<int>(gpus.size()) - 1);
  EXPECT_EQ(sum(last(10)).item(), 10);
}

TEST(CudaTest, LeavesNothing) {
  EXPECT_EQ(runs > 0, is_available());
  EXPECT_EQ(get_current_device(), Device::parse(test::kind() == test::Kind::cpu ? "cpu" : "cuda"));
  if (!is_available()) return;
  for (const Device& gpu : gpus) EXPECT_EQ(pool_statistics(gpu).held_bytes, 0u);
}

}  // namespace
}  // namespace quarry
