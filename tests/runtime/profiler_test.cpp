// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/profiler.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace quarry {
namespace {

/// What profilers do with it only they know: here that a program with these calls runs anywhere.
TEST(Profiler, CanBeToldToRecordOnEveryDevice) {
  EXPECT_NO_THROW(profile_start());
  EXPECT_NO_THROW(start_profiler());
  EXPECT_NO_THROW(profile_stop());
  EXPECT_NO_THROW(stop_profiler());
  for (int i = 0; i < 2; ++i) {
    auto scope = profiling();
    const Profiling inner;
  }
  EXPECT_NO_THROW(profile_start(Device::cpu()));
  EXPECT_NO_THROW(profile_stop(Device::cpu()));
}

}  // namespace
}  // namespace quarry
