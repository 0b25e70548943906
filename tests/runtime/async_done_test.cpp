// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <vector>

#include "gate.hpp"

/// Several futures of Stream::async_done() at once.
namespace quarry {
namespace {

TEST(AsyncDone, EveryFutureOfOneStreamIsReady) {
  const Stream s = stream();
  std::vector<std::future<Stream>> all;
  {
    test::Gate gate(s);
    for (int i = 0; i < 4; ++i) all.push_back(s.async_done());
  }
  for (auto& each : all) EXPECT_EQ(each.get(), s);
  s.synchronize();
}

TEST(AsyncDone, FuturesOfSeveralStreamsHaveTheirOwn) {
  const std::vector<Stream> streams{stream(), stream(), stream(), default_stream()};
  std::vector<std::future<Stream>> all;
  for (const Stream& s : streams) all.push_back(s.async_done());
  for (std::size_t i = streams.size(); i-- > 0;) EXPECT_EQ(all[i].get(), streams[i]) << i;
  synchronize();
}

TEST(AsyncDone, OneThatIsDroppedLeavesTheOthers) {
  const Stream s = stream();
  std::future<Stream> first, last;
  {
    test::Gate gate(s);
    first = s.async_done();
    s.async_done();  // dropped while the work is pending
    last = s.async_done();
  }
  EXPECT_EQ(first.get(), s);
  EXPECT_EQ(last.get(), s);
  s.synchronize();
}

TEST(AsyncDone, CopiesOfPageLockedMemoryHaveArrivedThen) {
  using Pinned = std::vector<double, PinnedAllocator<double>>;
  std::vector<Pinned> from, to;
  std::vector<std::future<Stream>> all;
  for (int i = 1; i <= 4; ++i) {
    from.emplace_back(8, double{1} * i), to.emplace_back(8, -1.0);
    const Stream s = stream();
    const auto a = to_device(from.back(), s);
    a.copy_to_host(to.back(), s);
    all.push_back(s.async_done());
  }
  for (std::size_t i = 0; i < 4; ++i) {
    all[i].get();
    EXPECT_EQ(std::accumulate(to[i].begin(), to[i].end(), 0.0) / 8, static_cast<double>(i + 1));
  }
  synchronize();
}

}  // namespace
}  // namespace quarry
