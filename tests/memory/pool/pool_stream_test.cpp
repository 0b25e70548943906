// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <optional>
#include <utility>
#include <vector>

#include "memory/source.hpp"

namespace quarry {
namespace {

using test::ends;
using test::fill;
using test::Gate;
using test::get;
using test::Source;

constexpr std::size_t kib = 1024, mib = 1024 * kib;

TEST(PoolStreams, MemoryOfAnIdleStreamComesBeforeFreshMemory) {
  const Source source;
  const Pool pool{Resource(source)};
  const Stream a = stream(), b = stream();
  get(pool, 40 * mib, a);
  get(pool, 4 * kib, a);
  const auto large = get(pool, 40 * mib, b), small = get(pool, 4 * kib, b);
  EXPECT_EQ(source.calls(), 2u);
}

TEST(PoolStreams, APieceOfAnIdleStreamsSegmentGoesBackToIt) {
  const Source source(2 * mib);
  const Pool pool{Resource(source)};
  const Stream a = stream(), b = stream();
  const auto keeps_the_segment = get(pool, 4 * kib, a);
  auto borrowed = get(pool, mib, b);
  EXPECT_EQ(source.calls(), 1u);
  Gate gate(b);
  fill(*borrowed, 7, b);
  borrowed.reset();  // b is at work in it
  source.set_capacity(64 * mib);
  const auto fresh = get(pool, mib + 512 * kib, a);
  EXPECT_EQ(source.calls(), 2u);
  gate.open();
  b.synchronize();
  source.set_capacity(0);
  EXPECT_NE(get(pool, mib, a)->data(), nullptr);
}

TEST(PoolStreams, MemoryOfABusyStreamIsLeftAloneWhileThereIsFresh) {
  const Source source;
  const Pool pool{Resource(source)};
  const Stream a = stream(), b = stream();
  auto first = get(pool, 40 * mib, a);
  const std::byte* const address = first->data();
  Gate gate(a);
  fill(*first, 1, a);
  first.reset();
  EXPECT_NE(get(pool, 40 * mib, b)->data(), address);
  EXPECT_EQ(source.calls(), 2u);
}

TEST(PoolStreams, UnderPressureMemoryOfABusyStreamIsUsedBehindItsWork) {
  const Source source(40 * mib);
  const Pool pool{Resource(source)};
  const Stream a = stream(), b = stream();
  auto first = get(pool, 40 * mib, a);
  Gate gate(a);
  fill(*first, 1, a);
  first.reset();
  const auto second = get(pool, 40 * mib, b);  // does not wait
  fill(*second, 2, b);
  EXPECT_FALSE(b.is_done());
  gate.open();
  EXPECT_EQ(ends(*second, b), std::pair(2u, 2u));
  a.synchronize();
  EXPECT_EQ(ends(*second, b), std::pair(2u, 2u));
}

TEST(PoolStreams, ABlockThatOtherStreamsUseWaitsForAllOfThem) {
  const Source source(40 * mib);
  const Pool pool{Resource(source)};
  const Stream home = stream(), x = stream(), y = stream();
  Gate hold_x(x), hold_y(y);
  auto first = get(pool, 40 * mib, home);
  for (const Stream* s : {&x, &y}) {
    first->used_on(*s);
    fill(*first, 1, *s);
  }
  first.reset();
  EXPECT_EQ(pool.statistics().active_bytes, 0u);
  const auto second = get(pool, 40 * mib, home);  // there is no other: behind both
  fill(*second, 2, home);
  EXPECT_FALSE(home.is_done());
  hold_x.open();  // both at once: the host functions of a process may share one thread
  hold_y.open();
  x.synchronize();
  y.synchronize();
  EXPECT_EQ(ends(*second, home), std::pair(2u, 2u));
}

TEST(PoolStreams, ABlockThatWasFreedDuringWorkElsewhereIsPendingUntilThen) {
  const Source source;
  const Pool pool{Resource(source)};
  const Stream home = stream(), other = stream();
  auto first = get(pool, 40 * mib, home);
  const std::byte* const address = first->data();
  {
    Gate gate(other);
    first->used_on(other);
    fill(*first, 1, other);
    first.reset();
    EXPECT_NE(get(pool, 40 * mib, home)->data(), address);
  }
  other.synchronize();
  const auto a = get(pool, 40 * mib, home), b = get(pool, 40 * mib, home);
  EXPECT_TRUE(a->data() == address || b->data() == address);
  EXPECT_EQ(source.calls(), 2u);
}

TEST(PoolStreams, ThreeStreamsPassOneBlockOn) {
  const Source source(40 * mib);
  const Pool pool{Resource(source)};
  const std::vector<Stream> streams{stream(), stream(), stream()};
  std::optional<Gate> gate(streams[0]);
  std::shared_ptr<Buffer> block;
  for (std::uint32_t i = 0; i < 9; ++i) {
    block.reset();
    block = get(pool, 40 * mib, streams[i % 3]);
    fill(*block, i, streams[i % 3]);
  }
  gate.reset();
  EXPECT_EQ(ends(*block, streams[2]), std::pair(8u, 8u));
  for (const Stream& s : streams) s.synchronize();
  EXPECT_EQ(ends(*block, streams[2]), std::pair(8u, 8u));
}

TEST(PoolStreams, MemoryOfAStreamThatEndsAtWorkIsUsedAfterIt) {
  const Source source(40 * mib);
  const Pool pool{Resource(source)};
  const Stream other = stream();
  std::optional<Gate> gate;
  {
    const Stream gone = stream();
    gate.emplace(gone);
    fill(*get(pool, 40 * mib, gone), 1, gone);
  }
  const auto block = get(pool, 40 * mib, other);
  fill(*block, 2, other);
  gate.reset();
  EXPECT_EQ(ends(*block, other), std::pair(2u, 2u));
  get_current_device().synchronize();
  EXPECT_EQ(ends(*block, other), std::pair(2u, 2u));
}

TEST(PoolStreams, PiecesOfManyStreamsMakeOneLargeBlockAgain) {
  const Source source(64 * mib);
  const Pool pool{Resource(source)};
  {
    std::vector<Stream> streams;
    std::vector<std::shared_ptr<Buffer>> pieces;
    for (int i = 0; i < 8; ++i) streams.push_back(stream());
    try {
      for (std::size_t i = 0;; ++i) pieces.push_back(get(pool, 300 * kib, streams[i % 8]));
    } catch (const MemoryError&) {
    }
    EXPECT_GT(pieces.size(), 150u);
  }
  EXPECT_NO_THROW(get(pool, 60 * mib, stream()));
}

/// Bytes of malloc in use; nothing is counted under sanitizers.
std::size_t bytes_of_malloc() { return mallinfo2().uordblks; }

TEST(PoolStreams, HeapsOfEndedStreamsAreTakenOverWithoutLosingMemory) {
  Pool pool(device_resource());
  const ResourceGuard guard(pool);
  const Stream lasting = stream();
  const auto hand_over = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      { const DeviceNDArray<char> dropped(Shape{1 << 20}, stream()); }
      { const DeviceNDArray<char> taken_over(Shape{1 << 20}, lasting); }
      pool.trim();
    }
    return bytes_of_malloc();
  };
  const std::size_t before = hand_over(200);
  EXPECT_LT(hand_over(1500), before + (std::size_t{1} << 16));
}

}  // namespace
}  // namespace quarry
