// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include <quarry/memory/failing.hpp>

namespace quarry {
namespace {

static_assert(MemoryResource<Failing>);

/// "." for an allocation that succeeded, "x" for one that failed.
std::string attempt(const Failing& failing, int times) {
  const Stream s = default_stream();
  std::string seen;
  for (int k = 0; k < times; ++k) {
    try {
      failing.deallocate(s, failing.allocate(s, 64), 64);
      seen += '.';
    } catch (const MemoryError& e) {
      EXPECT_EQ(e.report().requested, 64u);
      seen += 'x';
    }
  }
  return seen;
}

Resource pool() { return Pool::of(get_current_device()); }

TEST(Failing, FailsNothingUnlessTold) {
  const Failing failing(pool());
  EXPECT_EQ(attempt(failing, 5), ".....");
  EXPECT_EQ(failing.attempts(), 5u);
  EXPECT_EQ(failing.failed(), 0u);
}

TEST(Failing, FailsTheNthOnceOrFromThenOn) {
  const Failing failing(pool(), {.nth = 3});
  EXPECT_EQ(attempt(failing, 5), "..x..");
  EXPECT_EQ(failing.failed(), 1u);
  failing.set({.nth = 2, .and_later = true});
  EXPECT_EQ(failing.attempts(), 0u);
  EXPECT_EQ(attempt(failing, 5), ".xxxx");
  EXPECT_EQ(failing.failed(), 4u);
  failing.set({});
  EXPECT_EQ(attempt(failing, 3), "...");
}

TEST(Failing, ASeedFailsTheSameAllocationsAgain) {
  const Failing failing(pool(), {.probability = 0.25, .seed = 7});
  const std::string first = attempt(failing, 400);
  const double share = static_cast<double>(failing.failed()) / 400;
  EXPECT_LT(std::abs(share - 0.25), 0.1);
  failing.set({.probability = 0.25, .seed = 7});
  EXPECT_EQ(attempt(failing, 400), first);
  failing.set({.probability = 0.25, .seed = 8});
  EXPECT_NE(attempt(failing, 400), first);
  failing.set({.probability = 1});
  EXPECT_EQ(attempt(failing, 3), "xxx");
}

TEST(Failing, RefusesWhatIsNoProbability) {
  EXPECT_THROW(Failing(pool(), {.probability = 1.5}), LogicError);
  const Failing failing(pool());
  EXPECT_THROW(failing.set({.probability = -0.1}), LogicError);
  EXPECT_THROW(failing.set({.probability = std::numeric_limits<double>::quiet_NaN()}), LogicError);
}

TEST(Failing, EveryAllocationOfAnExpressionMayFail) {
  const auto a = arange<float>(1000), b = ones<float>({1000});
  const Failing failing(pool());
  const ResourceGuard guard(failing);
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 20u);
    failing.set({.nth = n});
    try {
      const DeviceNDArray<float> c = a * 2 + b;
      EXPECT_EQ(sum(c).item(), 1'000'000.f);
      if (failing.failed() == 0) break;
    } catch (const MemoryError&) {
      failing.set({});
      EXPECT_EQ(sum(a).item(), 499'500.f);
    }
  }
}

}  // namespace
}  // namespace quarry
