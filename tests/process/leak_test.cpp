// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include <quarry/memory/cuda_array.hpp>
#include <quarry/memory/host_memory.hpp>
#include <quarry/memory/registered.hpp>
#include <quarry/quarry.hpp>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"
#include "process/child.hpp"

/// What tests leave behind fails them, with a word for what it is: shown by tests that do, in a
/// process of their own.
namespace quarry::test {
namespace {

TEST(DISABLED_Leaks, Bytes) {
  static std::vector<DeviceNDArray<float>> kept;
  kept.push_back(ones<float>({100}));
}
TEST(DISABLED_Leaks, Streams) {
  static std::vector<Stream> kept;
  kept.push_back(stream());
}
TEST(DISABLED_Leaks, Events) {
  static std::vector<Event> kept(1);
  kept[0].record(default_stream());
}
TEST(DISABLED_Leaks, Registrations) {
  static std::vector<float> memory(100);
  static std::vector<RegisteredHostMemory> kept;
  kept.emplace_back(memory.data(), memory.size() * sizeof(float));
}
TEST(DISABLED_Leaks, PageLockedMemory) {
  static std::vector<float, PinnedAllocator<float>> kept(100);
}
TEST(DISABLED_Leaks, ManagedMemory) { static const auto kept = managed_zeros<float>({100}); }
TEST(DISABLED_Leaks, CudaArrays) { static const CudaArray kept({.width = 16, .height = 8}); }
/// On a thread that has the default device's context before.
class DISABLED_LeaksOfAThread : public testing::Test {
 protected:
  static void SetUpTestSuite() { zeros<float>({1}); }
};
TEST_F(DISABLED_LeaksOfAThread, CurrentContext) {
  CUcontext other = nullptr;
  fake::driver_table().DevicePrimaryCtxRetain(&other, 1);
  fake::driver_table().CtxSetCurrent(other);
}
TEST(DISABLED_Leaks, CurrentStream) {
  static std::optional<StreamGuard> kept;
  kept.emplace(stream({.device = Device()}));
}
TEST(DISABLED_Leaks, CurrentDevice) { set_current_device(Device::cpu()); }

Outcome run_leak(const std::string& name) {
  return run_command({command_of("")[0], "--gtest_also_run_disabled_tests",
                      "--gtest_filter=DISABLED_Leaks*." + name});
}
void expect_failure(const std::string& name, const std::string& word) {
  const Outcome outcome = run_leak(name);
  EXPECT_EQ(outcome.ending.code, 1) << name;
  EXPECT_NE(outcome.output.find(word), std::string::npos) << name << ": " << outcome.output;
}

TEST(Leaks, FailTheTestThatLeavesThemAndAreNamed) {
  expect_failure("Bytes", "hold 512 bytes; before they held 0");
  expect_failure("Streams", "than before: 1 stream");
  expect_failure("Events", "than before: 1 event");
  expect_failure("Registrations", "than before: 1 registration of host memory (400 bytes)");
  expect_failure("PageLockedMemory", "than before: 1 block of page-locked memory");
  expect_failure("ManagedMemory", "than before: 1 block of managed memory");
  expect_failure("CudaArrays", "than before: 1 CUDA array");
  expect_failure("CurrentStream", "another current stream");
  if (kind() != Kind::fake) return;
  expect_failure("CurrentDevice", "current device");
  expect_failure("CurrentContext", "the current CUDA context is ");
}

}  // namespace
}  // namespace quarry::test
