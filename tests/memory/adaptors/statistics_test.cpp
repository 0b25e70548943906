// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include <quarry/memory/failing.hpp>
#include <quarry/memory/statistics.hpp>

namespace quarry {
namespace {

static_assert(MemoryResource<Statistics>);

Resource pool() { return Pool::of(get_current_device()); }

TEST(Statistics, CurrentPeakAndTotalOfBytesAndAllocations) {
  const Statistics stats(pool());
  const Stream s = default_stream();
  void* const a = stats.allocate(s, 1000);
  void* const b = stats.allocate(s, 300);
  stats.deallocate(s, a, 1000);
  void* const c = stats.allocate(s, 50);
  const auto seen = stats.statistics();
  EXPECT_EQ(seen.bytes, (Tally{350, 1300, 1350}));
  EXPECT_EQ(seen.allocations, (Tally{2, 2, 3}));
  EXPECT_EQ(seen.failed, 0);
  EXPECT_EQ(to_string(seen),
            "bytes: 350 current, 1300 peak, 1350 total; allocations: 2 current, 2 peak, 3 total; "
            "0 failed");
  stats.deallocate(s, b, 300);
  stats.deallocate(s, c, 50);
  EXPECT_EQ(stats.statistics().bytes.current, 0);
}

TEST(Statistics, FailuresAreCountedAndPassOn) {
  const Statistics stats{Failing(pool(), {.nth = 1, .and_later = true})};
  EXPECT_THROW(stats.allocate(default_stream(), 10), MemoryError);
  EXPECT_EQ(stats.statistics(), (AllocationStatistics{{}, {}, 1}));
}

TEST(Statistics, AScopeCountsFromItsStart) {
  const Statistics stats(pool());
  const Stream s = default_stream();
  void* const before = stats.allocate(s, 5000);
  const auto outer = stats.scope();
  void* const a = stats.allocate(s, 100);
  {
    const auto inner = stats.scope();
    void* const b = stats.allocate(s, 10);
    stats.deallocate(s, b, 10);
    EXPECT_EQ(inner.statistics().bytes, (Tally{0, 10, 10}));
  }
  stats.deallocate(s, a, 100);
  EXPECT_EQ(outer.statistics().bytes, (Tally{0, 110, 110}));
  EXPECT_EQ(stats.statistics().bytes, (Tally{5000, 5110, 5110}));
  stats.deallocate(s, before, 5000);
}

TEST(Statistics, MemoryFromBeforeAScopeTakesItBelowZero) {
  const Statistics stats(pool());
  const Stream s = default_stream();
  void* const before = stats.allocate(s, 5000);
  const auto scope = stats.scope();
  stats.deallocate(s, before, 5000);
  EXPECT_EQ(scope.statistics().bytes, (Tally{-5000, 0, 0}));
  EXPECT_EQ(scope.statistics().allocations, (Tally{-1, 0, 0}));
}

TEST(Statistics, ScopesCountAllThreadsAndOutliveTheAdaptor) {
  std::optional<Statistics> stats(pool());
  const auto scope = stats->scope();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([stats = *stats, device = get_current_device()] {
      const Stream s = default_stream(device);
      for (int k = 0; k < 50; ++k) stats.deallocate(s, stats.allocate(s, 64), 64);
    });
  }
  for (auto& thread : threads) thread.join();
  stats.reset();
  EXPECT_EQ(scope.statistics().allocations.total, 200);
  EXPECT_EQ(scope.statistics().bytes.total, 200 * 64);
  EXPECT_EQ(scope.statistics().bytes.current, 0);
  EXPECT_LE(scope.statistics().bytes.peak, 4 * 64);
}

TEST(Statistics, CopiesAreHandlesOfTheSame) {
  const Statistics stats(pool());
  const Statistics copy = stats;
  const Stream s = default_stream();
  copy.deallocate(s, copy.allocate(s, 10), 10);
  EXPECT_EQ(stats.statistics().bytes.total, 10);
}

TEST(Statistics, NoBytesAreCountedEvenly) {
  const Statistics stats(device_resource());
  const Stream s = default_stream();
  void* const nothing = stats.allocate(s, 0);
  EXPECT_EQ(stats.statistics().allocations.current, 1);
  stats.deallocate(s, nothing, 0);
  EXPECT_EQ(stats.statistics().allocations, (Tally{0, 1, 1}));
}

TEST(Statistics, CountWhatArraysTake) {
  const Statistics stats(pool());
  {
    const ResourceGuard guard(stats);
    const auto a = zeros<float>({1000});
    EXPECT_EQ(stats.statistics().bytes.current, 4000);
  }
  EXPECT_EQ(stats.statistics().bytes.current, 0);
}

}  // namespace
}  // namespace quarry
