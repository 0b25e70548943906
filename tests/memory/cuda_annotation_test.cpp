// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/quarry.hpp>

#include "array/source_kernels.hpp"
#include "memory/ranges.hpp"

namespace quarry {
namespace {

using Annotations = test::Annotations;

TEST_F(Annotations, ShowKernelsOfTheProgram) {
  if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "kernels from source run on GPUs";
  if (test::kind() == test::Kind::fake) {
    fake::set_host_kernel("idle", {{}, [](const test::HostLaunch&) {}});
  }
  const Function idle = compile(test::source, {.names = {"scale<float>"}}).function("idle");
  const auto ranges = ranges_of([&] { idle.launch({.grid = {4, 2}, .block = 64}); });
  ASSERT_EQ(ranges.size(), 1u) << testing::PrintToString(ranges);
  EXPECT_EQ(ranges[0], "kernel idle (4, 2, 1) x (64, 1, 1) (0)");
}

}  // namespace
}  // namespace quarry
