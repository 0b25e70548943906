// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include <quarry/memory/tracking.hpp>

namespace quarry {
namespace {

static_assert(MemoryResource<Tracking>);

Resource pool() { return Pool::of(get_current_device()); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Tracking, KnowsWhatIsOutstanding) {
  const Tracking tracked(pool());
  const Stream s = stream();
  void* const a = tracked.allocate(s, 1000);
  void* const b = tracked.allocate(s, 2000);
  void* const c = tracked.allocate(default_stream(), 3000, 128);
  tracked.deallocate(s, b, 2000);
  const auto live = tracked.outstanding();
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].memory, a);
  EXPECT_EQ(live[0].bytes, 1000u);
  EXPECT_EQ(live[0].number, 1u);
  EXPECT_EQ(live[0].stream, s.handle());
  EXPECT_TRUE(live[0].stack.empty());
  EXPECT_EQ(live[1].memory, c);
  EXPECT_EQ(live[1].number, 3u);
  EXPECT_EQ(live[1].alignment, 128u);
  EXPECT_EQ(tracked.outstanding_bytes(), 4000u);
  tracked.deallocate(s, a, 1000);
  tracked.deallocate(default_stream(), c, 3000, 128);
  EXPECT_TRUE(tracked.outstanding().empty());
  EXPECT_TRUE(tracked.errors().empty());
}

TEST(Tracking, ReportsLeaksWithWhereTheyWereAllocated) {
  const Tracking tracked(pool(), true);
  const Stream s = default_stream();
  void* const a = tracked.allocate(s, 1234);
  tracked.set_stacks(false);
  void* const b = tracked.allocate(s, 5678);
  EXPECT_FALSE(tracked.outstanding()[0].stack.empty());
  EXPECT_TRUE(tracked.outstanding()[1].stack.empty());
  std::ostringstream out;
  tracked.report(out);
  EXPECT_TRUE(contains(out.str(), "2 allocations outstanding, 0 errors")) << out.str();
  EXPECT_TRUE(contains(out.str(), "#1: 1234 bytes at ")) << out.str();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").filename();
  EXPECT_TRUE(contains(out.str(), program + " +0x")) << out.str();
  tracked.deallocate(s, a, 1234);
  tracked.deallocate(s, b, 5678);
}

TEST(Tracking, AFreeOfAnotherSizeIsAnErrorAndFreesTheRightOne) {
  const Tracking tracked(pool());
  const Stream s = default_stream();
  std::vector<std::string> told;
  tracked.on_error([&](const TrackingError& e) { told.push_back(e.message); });
  void* const a = tracked.allocate(s, 1000);
  tracked.deallocate(s, a, 999);
  EXPECT_TRUE(tracked.outstanding().empty());
  ASSERT_EQ(tracked.errors().size(), 1u);
  EXPECT_EQ(tracked.errors()[0].memory, a);
  EXPECT_TRUE(contains(tracked.errors()[0].message, "1000")) << tracked.errors()[0].message;
  EXPECT_TRUE(contains(tracked.errors()[0].message, "999"));
  EXPECT_EQ(told.size(), 1u);
}

TEST(Tracking, ForeignMemoryIsNotPassedOn) {
  const Tracking tracked(pool(), true);
  const Stream s = default_stream();
  const auto before = Pool::of(get_current_device()).statistics();
  int something = 0;
  tracked.on_error([](const TrackingError&) { throw LogicError("ignored"); });
  tracked.deallocate(s, &something, sizeof something);
  void* const a = tracked.allocate(s, 500);
  tracked.deallocate(s, a, 500);
  tracked.deallocate(s, a, 500);
  EXPECT_EQ(tracked.errors().size(), 2u);
  EXPECT_FALSE(tracked.errors()[0].stack.empty());
  EXPECT_EQ(Pool::of(get_current_device()).statistics().active_bytes, before.active_bytes);
  std::ostringstream out;
  tracked.report(out);
  EXPECT_TRUE(contains(out.str(), "2 errors")) << out.str();
}

/// A resource that hands out one block again and again.
struct Twice {
  void* allocate(const Stream&, std::size_t, std::size_t) { return memory; }
  void deallocate(const Stream&, void*, std::size_t, std::size_t) noexcept {}
  MemorySpace space() const { return MemorySpace::device; }
  Device device() const { return {}; }
  void* memory;
};

TEST(Tracking, MemoryThatIsHandedOutTwiceIsAnError) {
  alignas(256) std::byte block[256];
  const Tracking tracked{Resource(Twice{block})};
  const Stream s = default_stream();
  void* const a = tracked.allocate(s, 100);
  EXPECT_THROW(tracked.allocate(s, 100), LogicError);
  tracked.deallocate(s, a, 100);
  EXPECT_EQ(tracked.allocate(s, 100), a);
}

TEST(Tracking, ThreadsThatFreeAndAllocateDoNotConfuseIt) {
  const Tracking tracked(pool());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, device = get_current_device()] {
      const Stream s = default_stream(device);
      for (int k = 0; k < 200; ++k) tracked.deallocate(s, tracked.allocate(s, 512), 512);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(tracked.outstanding().empty());
  EXPECT_TRUE(tracked.errors().empty());
}

}  // namespace
}  // namespace quarry
