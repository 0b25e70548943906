// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include <quarry/memory/failing.hpp>
#include <quarry/memory/limit.hpp>

namespace quarry {
namespace {

static_assert(MemoryResource<Limit>);

Resource pool() { return Pool::of(get_current_device()); }

TEST(Limit, RefusesWhatDoesNotFitAndSaysWhy) {
  const Limit limited(pool(), 1000);
  const Stream s = default_stream();
  void* const a = limited.allocate(s, 600);
  EXPECT_EQ(limited.outstanding(), 600u);
  try {
    limited.allocate(s, 401);
    FAIL() << "no exception";
  } catch (const MemoryError& e) {
    EXPECT_EQ(e.report().requested, 401u);
    EXPECT_EQ(e.report().live, 600u);
    EXPECT_EQ(e.report().limit, 1000u);
    EXPECT_NE(std::string(e.what()).find("600 of 1000"), std::string::npos) << e.what();
  }
  void* const b = limited.allocate(s, 400);
  EXPECT_EQ(limited.outstanding(), 1000u);
  limited.deallocate(s, a, 600);
  limited.deallocate(s, b, 400);
  EXPECT_EQ(limited.outstanding(), 0u);
}

TEST(Limit, ARequestThatOverflowsIsRefused) {
  const Limit limited(pool(), 1000);
  const Stream s = default_stream();
  void* const a = limited.allocate(s, 600);
  EXPECT_THROW(limited.allocate(s, std::numeric_limits<std::size_t>::max()), MemoryError);
  EXPECT_EQ(limited.outstanding(), 600u);
  limited.deallocate(s, a, 600);
}

TEST(Limit, WhatTheUpstreamRefusesIsNotCounted) {
  const Limit limited(Failing(pool(), {.nth = 1}), 1000);
  const Stream s = default_stream();
  EXPECT_THROW(limited.allocate(s, 1000), MemoryError);
  EXPECT_EQ(limited.outstanding(), 0u);
  limited.deallocate(s, limited.allocate(s, 1000), 1000);
}

TEST(Limit, MayBeChangedButNotBelowWhatIsInUse) {
  const Limit limited(pool(), 1000);
  const Stream s = default_stream();
  void* const a = limited.allocate(s, 600);
  EXPECT_THROW(limited.set_limit(599), LogicError);
  EXPECT_EQ(limited.limit(), 1000u);
  limited.set_limit(600);
  EXPECT_THROW(limited.allocate(s, 1), MemoryError);
  limited.set_limit(std::numeric_limits<std::size_t>::max());
  limited.deallocate(s, limited.allocate(s, 5000), 5000);
  EXPECT_EQ(limited.outstanding(), 600u);
  limited.set_limit(1000);
  EXPECT_THROW(limited.allocate(s, 500), MemoryError);
  limited.deallocate(s, a, 600);
}

TEST(Limit, RacingThreadsNeverPassItAndAreNotRefusedInVain) {
  constexpr std::size_t threads = 8, bytes = 100;
  const Limit limited(pool(), threads * bytes);
  std::atomic<int> refused = 0, above = 0;
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t) {
    all.emplace_back([&, device = get_current_device()] {
      const Stream s = default_stream(device);
      for (int k = 0; k < 200; ++k) {
        try {
          void* const memory = limited.allocate(s, bytes);
          if (limited.outstanding() > threads * bytes) ++above;
          limited.deallocate(s, memory, bytes);
        } catch (const MemoryError&) {
          ++refused;
        }
      }
    });
  }
  for (auto& thread : all) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(above, 0);
  EXPECT_EQ(limited.outstanding(), 0u);
}

TEST(Limit, ArraysThatDoNotFitThrowAndLeaveTheRestAlone) {
  const Limit limited(pool(), 10'000);
  const ResourceGuard guard(limited);
  const auto a = ones<float>({2000});
  EXPECT_THROW(zeros<float>({1000}), MemoryError);
  EXPECT_EQ(sum(a).item(), 2000.f);
}

TEST(Limit, APoolAboveGivesItsCacheBackBeforeItIsRefused) {
  const Limit limited(device_resource(), 8 << 20);
  const Pool pool(limited);
  const ResourceGuard guard{Resource(pool)};
  { const auto a = zeros<std::int8_t>({5 << 20}); }
  const auto b = zeros<std::int8_t>({7 << 20});
  EXPECT_LE(limited.outstanding(), std::size_t{8} << 20);
}

}  // namespace
}  // namespace quarry
