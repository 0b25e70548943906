// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/device.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace quarry {
namespace {

TEST(SelectDevice, MakesAGpuTheCurrentDeviceOfTheThreadAndReturnsIt) {
  if (gpus.empty()) GTEST_SKIP() << "wants a GPU";
  const Device before = get_current_device();
  std::thread([] {
    for (const Device gpu : gpus) {
      EXPECT_EQ(select_device(gpu.id()), gpu);
      EXPECT_EQ(get_current_device(), gpu);
      EXPECT_EQ(gpus.current(), gpu);
    }
  }).join();
  EXPECT_EQ(get_current_device(), before);
}

TEST(SelectDevice, OfANumberThatIsNoGpuChangesNothing) {
  const Device before = get_current_device();
  EXPECT_THROW(select_device(static_cast<int>(gpus.size())), Error);
  EXPECT_THROW(select_device(-1), Error);
  EXPECT_EQ(get_current_device(), before);
}

}  // namespace
}  // namespace quarry
