// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/profiler.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

#include "backend/cuda/driver/driver.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/shim.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

namespace shim = backend::cuda::shim;
using backend::cuda::DriverFunction;

class FakeProfiler : public testing::Test {
  void SetUp() override {
    if (test::kind() != test::Kind::fake) GTEST_SKIP() << "looks into the fake driver";
    fake::reset_statistics();
  }
};

TEST_F(FakeProfiler, BeginningTwiceIsBeginningOnce) {
  profile_start();
  start_profiler();
  EXPECT_TRUE(fake::is_recording(0));
  EXPECT_EQ(fake::statistics().recordings, 1);
  profile_stop();
  EXPECT_FALSE(fake::is_recording(0));
  stop_profiler();
  EXPECT_FALSE(fake::is_recording(0));
}

TEST_F(FakeProfiler, ScopesNest) {
  {
    const auto outer = profiling();
    {
      const Profiling inner;
      EXPECT_TRUE(fake::is_recording(0));
    }
    EXPECT_TRUE(fake::is_recording(0));
  }
  EXPECT_FALSE(fake::is_recording(0));
  EXPECT_EQ(fake::statistics().recordings, 1);
  const Profiling again;
  EXPECT_EQ(fake::statistics().recordings, 2);
}

TEST_F(FakeProfiler, AScopeEndsWithAnException) {
  try {
    const Profiling scope;
    throw std::runtime_error("out of the scope");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(fake::is_recording(0));
}

TEST_F(FakeProfiler, AScopeIsOfItsDevice) {
  {
    const Profiling second(Device::cuda(1));
    EXPECT_FALSE(fake::is_recording(0));
    EXPECT_TRUE(fake::is_recording(1));
    const Profiling first;
    const DeviceGuard guard(Device::cuda(1));  // where the scope ends does not matter
    EXPECT_TRUE(fake::is_recording(0));
  }
  EXPECT_FALSE(fake::is_recording(0));
  EXPECT_FALSE(fake::is_recording(1));
}

TEST_F(FakeProfiler, AScopeThatCannotBeginIsNone) {
  shim::inject({.code = CUDA_ERROR_NOT_SUPPORTED, .function = DriverFunction::ProfilerStart});
  EXPECT_THROW(Profiling{}, LogicError);
  const Profiling scope;
  EXPECT_TRUE(fake::is_recording(0));
}

TEST_F(FakeProfiler, TheEndOfAScopeDoesNotThrow) {
  shim::inject({.code = CUDA_ERROR_NOT_SUPPORTED, .function = DriverFunction::ProfilerStop});
  EXPECT_NO_THROW(Profiling{});
  shim::clear_faults();
  profile_stop();
}

}  // namespace
}  // namespace quarry
