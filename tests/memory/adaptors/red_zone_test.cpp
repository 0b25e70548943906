// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

#include <quarry/memory/limit.hpp>
#include <quarry/memory/red_zone.hpp>
#include <quarry/memory/statistics.hpp>

#include "backend/backend.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

static_assert(MemoryResource<RedZone>);
using Kind = MemoryFaultKind;

Resource pool() { return Pool::of(get_current_device()); }

/// Writes to device memory as a kernel would, wherever `memory` points to.
void scribble(void* memory, std::ptrdiff_t offset, std::size_t bytes, const Stream& s) {
  const unsigned char value = 1;
  s.state().device->fill(static_cast<char*>(memory) + offset, &value, 1,
                         static_cast<std::int64_t>(bytes), s.state().native);
}

std::vector<unsigned char> read(const void* memory, std::size_t bytes, const Stream& s) {
  std::vector<unsigned char> values(bytes);
  s.state().device->copy({.direction = backend::Direction::device_to_host,
                          .to = values.data(),
                          .from = memory,
                          .bytes = bytes},
                         s.state().native, true);
  return values;
}

struct Told {
  std::vector<MemoryFault> faults;
  RedZoneOptions options(std::size_t quarantine = std::size_t{1} << 20) {
    return {.quarantine = quarantine,
            .handler = [this](const MemoryFault& f) { faults.push_back(f); }};
  }
};

TEST(RedZone, GoodUseIsNotReported) {
  Told told;
  {
    const RedZone zoned(pool(), told.options());
    const Stream s = stream();
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{255}, std::size_t{100'000}}) {
      void* const a = zoned.allocate(s, bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 256, 0u);
      scribble(a, 0, bytes, s);
      zoned.check();
      zoned.deallocate(s, a, bytes);
    }
    zoned.check();
  }
  EXPECT_TRUE(told.faults.empty());
}

TEST(RedZone, FreshAndFreedMemoryIsPoisoned) {
  const RedZone zoned(pool());
  const Stream s = stream();
  void* const a = zoned.allocate(s, 300);
  EXPECT_EQ(read(a, 300, s), std::vector<unsigned char>(300, RedZone::poison));
  scribble(a, 0, 300, s);
  zoned.deallocate(s, a, 300);
  EXPECT_EQ(read(a, 300, default_stream()), std::vector<unsigned char>(300, RedZone::poison));
}

TEST(RedZone, WritesOutsideAreReportedWhenTheBlockIsFreed) {
  Told told;
  const RedZone zoned(pool(), told.options());
  const Stream s = stream();
  void* const a = zoned.allocate(s, 1000);
  scribble(a, 1003, 2, s);
  zoned.deallocate(s, a, 1000);
  ASSERT_EQ(told.faults.size(), 1u);
  EXPECT_EQ(told.faults[0].kind, Kind::overwritten_after);
  EXPECT_EQ(told.faults[0].block, a);
  EXPECT_EQ(told.faults[0].bytes, 1000u);
  EXPECT_EQ(told.faults[0].number, 1u);
  EXPECT_EQ(told.faults[0].offset, 1003);
  void* const b = zoned.allocate(s, 1000);
  scribble(b, -1, 1, s);
  zoned.deallocate(s, b, 1000);
  ASSERT_EQ(told.faults.size(), 2u);
  EXPECT_EQ(told.faults[1].kind, Kind::overwritten_before);
  EXPECT_EQ(told.faults[1].number, 2u);
  EXPECT_EQ(told.faults[1].offset, -1);
  EXPECT_EQ(zoned.faults().size(), 2u);
}

TEST(RedZone, CheckThrowsWhatItFindsInLiveBlocksOnce) {
  const RedZone zoned(pool());
  const Stream s = stream();
  void* const a = zoned.allocate(s, 64);
  zoned.check();
  scribble(a, 64, 1, s);
  try {
    zoned.check();
    FAIL() << "no exception";
  } catch (const LogicError& e) {
    EXPECT_EQ(e.what(), to_string(zoned.faults().at(0)));
    EXPECT_NE(std::string(e.what()).find("offset 64"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW(zoned.check());
  zoned.deallocate(s, a, 64);
  EXPECT_EQ(zoned.faults().size(), 1u);
}

TEST(RedZone, WithoutAHandlerDeallocateWritesToTheErrorStream) {
  const RedZone zoned(pool());
  testing::internal::CaptureStderr();
  int something = 0;
  zoned.deallocate(default_stream(), &something, sizeof something);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("not a block of this resource"), std::string::npos) << text;
}

TEST(RedZone, UseAfterFreeIsFoundInQuarantine) {
  Told told;
  const RedZone zoned(pool(), told.options());
  const Stream s = stream();
  void* const a = zoned.allocate(s, 2000);
  zoned.deallocate(s, a, 2000);
  EXPECT_GE(zoned.quarantined_bytes(), 2000u);
  void* const b = zoned.allocate(s, 2000);
  EXPECT_NE(a, b);
  scribble(a, 1500, 10, s);
  zoned.check();
  ASSERT_EQ(told.faults.size(), 1u);
  EXPECT_EQ(told.faults[0].kind, Kind::used_after_free);
  EXPECT_EQ(told.faults[0].block, a);
  EXPECT_EQ(told.faults[0].offset, 1500);
  zoned.deallocate(s, b, 2000);
}

TEST(RedZone, UseAfterFreeIsFoundWhenABlockLeavesQuarantine) {
  Told told;
  {
    const RedZone zoned(pool(), told.options(3000));
    const Stream s = stream();
    void* const a = zoned.allocate(s, 2000);
    zoned.deallocate(s, a, 2000);
    scribble(a, 7, 1, s);
    s.synchronize();
    EXPECT_TRUE(told.faults.empty());
    zoned.deallocate(s, zoned.allocate(s, 1000), 1000);  // no room for both
    ASSERT_EQ(told.faults.size(), 1u);
    EXPECT_EQ(told.faults[0].offset, 7);
    EXPECT_LE(zoned.quarantined_bytes(), 3000u);
    void* const b = zoned.allocate(s, 100);
    zoned.deallocate(s, b, 100);
    scribble(b, 0, 1, s);
    s.synchronize();
  }
  EXPECT_EQ(told.faults.size(), 2u) << "found when the adaptor ends";
}

TEST(RedZone, DoubleAndForeignFreesDoNotReachTheUpstream) {
  Told told;
  const Statistics below(pool());
  const RedZone zoned(below, told.options());
  const Stream s = stream();
  void* const a = zoned.allocate(s, 100);
  zoned.deallocate(s, a, 100);
  zoned.deallocate(s, a, 100);
  void* const b = zoned.allocate(s, 100);
  zoned.deallocate(s, static_cast<char*>(b) + 1, 99);
  zoned.deallocate(s, b, 90);
  ASSERT_EQ(told.faults.size(), 3u);
  EXPECT_EQ(told.faults[0].kind, Kind::double_free);
  EXPECT_EQ(told.faults[0].number, 1u);
  EXPECT_EQ(told.faults[1].kind, Kind::foreign_pointer);
  EXPECT_EQ(told.faults[1].number, 0u);
  EXPECT_EQ(told.faults[2].kind, Kind::wrong_size);
  EXPECT_EQ(told.faults[2].bytes, 100u);
  zoned.trim();
  EXPECT_EQ(zoned.quarantined_bytes(), 0u);
  EXPECT_EQ(below.statistics().allocations.current, 0);
  EXPECT_EQ(below.statistics().bytes.current, 0);
}

TEST(RedZone, QuarantineIsGivenBackBeforeAnAllocationFails) {
  const RedZone zoned{Resource(Limit(pool(), 10'000))};
  const Stream s = stream();
  zoned.deallocate(s, zoned.allocate(s, 3000), 3000);
  zoned.deallocate(s, zoned.allocate(s, 3000), 3000);
  void* const a = zoned.allocate(s, 9000);
  EXPECT_EQ(zoned.quarantined_bytes(), 0u);
  EXPECT_THROW(zoned.allocate(s, 9000), MemoryError);
  zoned.deallocate(s, a, 9000);
}

TEST(RedZone, LargeAlignmentsAreKept) {
  const RedZone zoned(host_resource(), {.zone = 100});
  const Stream s = default_stream(Device::cpu());
  void* const a = zoned.allocate(s, 10, 4096);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 4096, 0u);
  zoned.deallocate(s, a, 10, 4096);
  EXPECT_TRUE(zoned.faults().empty());
  EXPECT_THROW(zoned.allocate(s, 10, 3), LogicError);
  EXPECT_THROW(zoned.allocate(s, 10, 0), LogicError);
  EXPECT_THROW(zoned.allocate(s, ~std::size_t{0}), SizeOverflow);
}

TEST(RedZone, MemoryOfTheHostIsGuardedToo) {
  for (const Resource& resource : {pinned_resource(), mapped_resource()}) {
    Told told;
    const RedZone zoned(resource, told.options());
    const Stream s = stream();
    auto* const a = static_cast<unsigned char*>(zoned.allocate(s, 50));
    EXPECT_EQ(a[49], RedZone::poison);
    a[51] = 0;
    zoned.deallocate(s, a, 50);
    ASSERT_EQ(told.faults.size(), 1u) << resource.name();
    EXPECT_EQ(told.faults[0].offset, 51);
  }
}

TEST(RedZone, WorkOfOtherStreamsIsWaitedFor) {
  Told told;
  const RedZone zoned(pool(), told.options());
  const Stream home = stream(), other = stream();
  void* const a = zoned.allocate(home, 100);
  home.synchronize();
  scribble(a, 0, 100, other);
  scribble(a, 100, 1, other);
  zoned.deallocate(home, std::vector{other}, a, 100, Resource::default_alignment);
  ASSERT_EQ(told.faults.size(), 1u);
  EXPECT_EQ(told.faults[0].kind, Kind::overwritten_after);
  zoned.check();
  EXPECT_EQ(told.faults.size(), 1u) << "the body was poisoned after the work";
}

TEST(RedZone, UnderArraysAndFromManyThreads) {
  const RedZone zoned(pool(), {.quarantine = 100'000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, device = get_current_device()] {
      const DeviceGuard on(device);
      const ResourceGuard guard(zoned);
      const Stream s = stream();
      const StreamGuard in_stream(s);
      for (int k = 1; k < 20; ++k) {
        const auto a = arange<float>(static_cast<float>(100 * k));
        const DeviceNDArray<float> b = a * 2;
        EXPECT_EQ(sum(b).item(), static_cast<float>(100 * k * (100 * k - 1)));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_NO_THROW(zoned.check());
  EXPECT_TRUE(zoned.faults().empty());
}

/// What is told in the options or asked for leaves no room in an address.
TEST(RedZone, ZonesThatNoMemoryHoldsAreRefused) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  const Stream s = default_stream();
  for (const std::size_t zone : {most, most - 255, most / 2, most / 4, std::size_t{1} << 60}) {
    const RedZone zones(device_resource(), {.zone = zone});
    for (const std::size_t bytes : {std::size_t{100}, most / 2, most - 100}) {
      try {
        zones.allocate(s, bytes);
        ADD_FAILURE() << zone << ' ' << bytes;
      } catch (const SizeOverflow&) {
      } catch (const MemoryError&) {
        EXPECT_LT(zone, most / 4);
      }
    }
    EXPECT_TRUE(zones.faults().empty());
  }
}

}  // namespace
}  // namespace quarry
