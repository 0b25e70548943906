// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fake_driver/test_device.hpp"
#include "memory/source.hpp"

namespace quarry {
namespace {

using test::ends;
using test::fill;
using test::get;
using test::Source;

constexpr std::size_t kib = 1024, mib = 1024 * kib;

TEST(Pool, BlocksAreCutFromSegments) {
  const Source source;
  const Pool pool{Resource(source)};
  const Stream s = stream();
  const auto a = get(pool, 1000, s), b = get(pool, mib, s);
  EXPECT_EQ(source.sizes(), std::vector{2 * mib});
  const auto c = get(pool, mib + 1, s), d = get(pool, 16 * mib - 64 * kib, s);
  EXPECT_EQ(source.sizes(), (std::vector{2 * mib, 32 * mib}));
  const auto e = get(pool, 40 * mib + 5, s);
  EXPECT_EQ(source.sizes(), (std::vector{2 * mib, 32 * mib, 42 * mib}));
  EXPECT_EQ(pool.statistics().allocations, 3u);
}

TEST(Pool, LargeBlocksThatWereFreedAreOneBlockAgain) {
  const Source source(32 * mib);
  const Pool pool{Resource(source)};
  const Stream s = stream();
  get(pool, 32 * mib, s);
  for (const bool first_goes_first : {false, true}) {
    auto a = get(pool, 20 * mib, s), b = get(pool, 12 * mib, s);
    EXPECT_THROW(get(pool, 1, s), MemoryError);
    (first_goes_first ? a : b).reset();
    (first_goes_first ? b : a).reset();
    EXPECT_EQ(pool.statistics().largest_free_bytes, 32 * mib);
    const auto whole = get(pool, 32 * mib, s);
    EXPECT_EQ(source.sizes(), std::vector{32 * mib});
  }
}

TEST(Pool, ALargeBlockThatIsKeptServesSmallOnes) {
  const Source source(32 * mib);
  const Pool pool{Resource(source)};
  const Stream s = stream();
  const std::byte* const place = get(pool, 32 * mib, s)->data();
  const auto small = get(pool, 1000, s);
  EXPECT_EQ(small->data(), place);
  EXPECT_EQ(source.calls(), 1u);
}

TEST(Pool, TakesNoMoreThanIsNeededFromAnUpstreamThatHasLittle) {
  const Source source(mib);
  const Pool pool{Resource(source)};
  const Stream s = stream();
  const auto a = get(pool, 512 * kib, s), b = get(pool, 512 * kib, s);
  EXPECT_EQ(source.sizes(), (std::vector{512 * kib, 512 * kib}));
  EXPECT_THROW(get(pool, 1, s), MemoryError);
}

TEST(Pool, TakesAsMuchMoreAsAnAlignmentMayNeed) {
  const Source source(2 * mib);
  Pool pool{Resource(source)};
  const Stream s = stream();
  void* const memory = pool.allocate(s, 64 * kib, mib);
  EXPECT_EQ(source.sizes(), (std::vector{64 * kib + mib - 256}));
  pool.deallocate(s, memory, 64 * kib, mib);
}

TEST(Pool, GivesEverythingBack) {
  const Source source;
  {
    Pool pool{Resource(source)};
    const Stream s = stream();
    auto kept = get(pool, 3 * mib, s);
    get(pool, 100, s);
    get(pool, 40 * mib, s);
    pool.trim();
    EXPECT_EQ(source.in_use(), 32 * mib);  // where the live block lies
    EXPECT_EQ(pool.statistics().held_bytes, 32 * mib - pool.statistics().active_bytes);
    kept.reset();
    pool.trim();
    EXPECT_EQ(source.in_use(), 0u);
    EXPECT_EQ(pool.statistics().held_bytes, 0u);
    kept = get(pool, 100, s);
  }
  EXPECT_EQ(source.in_use(), 0u);
}

TEST(Pool, LivesAsLongAsItsMemory) {
  const Source source;
  const Stream s = stream();
  std::shared_ptr<Buffer> buffer;
  {
    const Pool pool{Resource(source)};
    buffer = get(pool, 4 * kib, s);
  }
  fill(*buffer, 42, s);
  EXPECT_EQ(ends(*buffer, s), std::pair(42u, 42u));
  EXPECT_GT(source.in_use(), 0u);
  buffer.reset();
  EXPECT_EQ(source.in_use(), 0u);
}

TEST(Pool, AStreamMayEndBeforeThePoolAndThePoolBeforeAStream) {
  const Source source;
  const Stream longer = stream();
  for (int i = 0; i < 3; ++i) {
    const Pool pool{Resource(source)};
    get(pool, 100, stream());
    get(pool, 100, longer);
    get(pool, 3 * mib, stream());
  }
  EXPECT_EQ(source.in_use(), 0u);
}

TEST(Pool, AlignmentsUpToTwoMebibytes) {
  const Source source;
  Pool pool{Resource(source)};
  const Stream s = stream();
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t alignment = 1; alignment <= 2 * mib; alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{1}, 3 * kib, 2 * mib}) {
      void* const memory = pool.allocate(s, bytes, alignment);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % std::max<std::size_t>(alignment, 256),
                0u);
      pool.deallocate(s, memory, bytes, alignment);
    }
  }
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, 4 * mib, ~std::size_t{0}}) {
    EXPECT_THROW(pool.allocate(s, 100, alignment), LogicError);
  }
  EXPECT_EQ(pool.statistics().active_bytes, 0u);
}

TEST(Pool, ZeroBytesAreNoMemory) {
  const Source source;
  Pool pool{Resource(source)};
  EXPECT_EQ(pool.allocate(stream(), 0, 256), nullptr);
  pool.deallocate(stream(), nullptr, 0, 256);
  EXPECT_EQ(source.calls(), 0u);
  EXPECT_EQ(pool.statistics().active_bytes, 0u);
}

TEST(Pool, TheLimitBoundsWhatIsTaken) {
  const Source source;
  Pool pool(Resource(source), {.limit = 3 * mib});
  const Stream s = stream();
  auto a = get(pool, mib, s);
  const auto b = get(pool, 900 * kib, s), c = get(pool, 900 * kib, s);
  EXPECT_LE(source.in_use(), 3 * mib);
  try {
    get(pool, 2 * mib, s);
    FAIL();
  } catch (const MemoryError& e) {
    EXPECT_EQ(e.report().limit, 3 * mib);
    EXPECT_EQ(e.report().live, pool.statistics().active_bytes);
    const std::string text = e.what();
    for (const std::size_t figure : {2 * mib, 3 * mib, e.report().live, e.report().cached,
                                     e.report().largest_free, e.report().device_total}) {
      EXPECT_NE(text.find(std::to_string(figure)), std::string::npos) << figure << ": " << text;
    }
    EXPECT_NE(text.find("pool(source)"), std::string::npos) << text;
  }
  EXPECT_THROW(pool.set_limit(mib), LogicError);
  EXPECT_EQ(pool.statistics().limit, 3 * mib);
  pool.set_limit(16 * mib);
  EXPECT_NO_THROW(get(pool, 2 * mib, s));
}

TEST(Pool, StatisticsOfOneStreamAreExact) {
  const Source source;
  const Pool pool{Resource(source)};
  const Stream s = stream();
  auto a = get(pool, 3 * mib, s), b = get(pool, 512, s);
  EXPECT_EQ(pool.statistics().active_bytes, 3 * mib + 512);
  a.reset();
  const auto now = pool.statistics();
  EXPECT_EQ(now.active_bytes, 512u);
  EXPECT_EQ(now.peak_active_bytes, 3 * mib + 512);
  EXPECT_EQ(now.held_bytes + now.active_bytes, source.in_use());
  EXPECT_GE(now.largest_free_bytes, 3 * mib);
}

// --- when there is no more
// --------------------------------------------------------------------------

TEST(Pool, CallbacksAreAskedUntilNoneHelps) {
  const Source source(40 * mib);
  Pool pool{Resource(source)};
  const Stream s = stream();
  auto victim = get(pool, 40 * mib, s);
  std::vector<std::pair<std::size_t, int>> calls;
  auto registration = pool.on_pressure([&](std::size_t bytes, int attempt) {
    calls.emplace_back(bytes, attempt);
    if (attempt == 2) victim.reset();
    return attempt <= 2;
  });
  auto block = get(pool, 40 * mib, s);
  EXPECT_EQ(calls, (std::vector<std::pair<std::size_t, int>>{{40 * mib, 1}, {40 * mib, 2}}));
  calls.clear();
  EXPECT_THROW(get(pool, 30 * mib, s), MemoryError);
  EXPECT_EQ(calls.size(), 3u);
  registration.reset();
  calls.clear();
  EXPECT_THROW(get(pool, 30 * mib, s), MemoryError);
  EXPECT_TRUE(calls.empty());
  EXPECT_THROW(static_cast<void>(pool.on_pressure(nullptr)), LogicError);
}

/// The pool that arrays are taken from by default has no owner.
TEST(Pool, TheDefaultOneAsksCallbacksToo) {
  int calls = 0;
  {
    const auto registration =
        Pool::of(Device()).on_pressure([&](std::size_t, int) { return ++calls, false; });
    EXPECT_THROW(get(Pool::of(Device()), std::size_t{1} << 60, stream()), MemoryError);
    EXPECT_EQ(calls, 1);
  }
  EXPECT_THROW(get(Pool::of(Device()), std::size_t{1} << 60, stream()), MemoryError);
  EXPECT_EQ(calls, 1) << "it has been taken back";
}

TEST(Pool, ACallbackThatAlwaysHopesDoesNotHang) {
  const Source source(mib);
  Pool pool{Resource(source)};
  int calls = 0;
  const auto registration = pool.on_pressure([&](std::size_t, int) { return ++calls > 0; });
  EXPECT_THROW(get(pool, 2 * mib, stream()), MemoryError);
  EXPECT_EQ(calls, 8);
}

TEST(Pool, CachesThatDoNotFitAreGivenBackForABlockThatDoes) {
  const Source source(40 * mib);
  Pool pool{Resource(source)};
  const Stream s = stream();
  {
    std::vector<std::shared_ptr<Buffer>> segments;
    for (int i = 0; i < 20; ++i) segments.push_back(get(pool, 2 * mib - 64 * kib, s));
  }
  EXPECT_NO_THROW(get(pool, 40 * mib, s));
}

TEST(Pool, OtherPoolsGiveTheirCachesBack) {
  const Source source(40 * mib);
  const Pool first{Resource(source)}, second{Resource(source)};
  const Stream s = stream();
  get(first, 40 * mib, s);
  EXPECT_EQ(source.in_use(), 40 * mib);
  EXPECT_NO_THROW(get(second, 40 * mib, s));
  EXPECT_EQ(first.statistics().held_bytes, 0u);
}

TEST(Pool, AFailedAllocationLeavesThePoolAsItWas) {
  const Source source(8 * mib);
  const Pool pool{Resource(source)};
  const Stream s = stream();
  const auto kept = get(pool, mib, s);
  fill(*kept, 5, s);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(get(pool, 9 * mib, s), MemoryError);
  EXPECT_EQ(pool.statistics().active_bytes, mib);
  EXPECT_EQ(ends(*kept, s), std::pair(5u, 5u));
  EXPECT_NO_THROW(get(pool, 2 * mib, s));
}

/// An upstream that does what it is told.
struct Rogue {
  std::function<void*(std::size_t)> answer;
  void* allocate(const Stream&, std::size_t bytes, std::size_t) { return answer(bytes); }
  void deallocate(const Stream&, void*, std::size_t, std::size_t) noexcept {}
  MemorySpace space() const { return MemorySpace::device; }
  Device device() const { return {}; }
};

TEST(Pool, UpstreamsThatMisbehaveAreFoundOut) {
  const Stream s = stream();
  const auto pool_of = [](std::function<void*(std::size_t)> f) {
    return Pool(Rogue{std::move(f)});
  };
  EXPECT_THROW(get(pool_of([](std::size_t) { return nullptr; }), 100, s), MemoryError);
  EXPECT_THROW(get(pool_of([](std::size_t) -> void* { throw IoError("disk"); }), 100, s), IoError);
  EXPECT_THROW(get(pool_of([](std::size_t) { return reinterpret_cast<void*>(0x1010); }), 100, s),
               LogicError);
  if (get_current_device().is_cpu()) return;  // sanitizers would write their notes about it
  const Pool twice = pool_of([](std::size_t) { return reinterpret_cast<void*>(0x100000); });
  auto a = get(twice, 100, s);
  EXPECT_THROW(get(twice, 4 * mib, s), LogicError);
}

TEST(Pool, AStreamOfAnotherDeviceIsRefused) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "there is one CPU";
  Pool pool{Resource(Source())};
  EXPECT_THROW(pool.allocate(default_stream(Device::cpu()), 100, 256), LogicError);
}

TEST(PoolDeathTest, MistakesWithFreesEndTheProgramWithAReason) {
  if (test::kind() != test::Kind::cpu) GTEST_SKIP() << "one kind of device is enough";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Pool pool{Resource(Source())};
  const Stream s = default_stream();
  void* const memory = pool.allocate(s, 5000, 256);
  auto* const inside = static_cast<std::byte*>(memory) + 256;
  EXPECT_DEATH(pool.deallocate(s, memory, 50'000, 256), "was freed as a block of");
  EXPECT_DEATH(pool.deallocate(s, memory, 5100, 256), "a block of 5100 bytes and has 5000");
  EXPECT_DEATH(pool.deallocate(stream(), memory, 5100, 256), "a block of 5100 bytes and has 5000");
  EXPECT_DEATH(pool.deallocate(s, inside, 5000, 256), "not the start of a block");
  EXPECT_DEATH((pool.deallocate(s, memory, 5000, 256), pool.deallocate(s, memory, 5000, 256)),
               "freed twice");
  pool.deallocate(s, memory, 5000, 256);
}

}  // namespace
}  // namespace quarry
