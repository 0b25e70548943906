// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "backend/cuda/fake_device.hpp"
#include "fake_driver/shim.hpp"
#include "memory/source.hpp"

namespace quarry {
namespace {

using backend::cuda::DriverFunction;
using backend::cuda::Fault;
using test::ends;
using test::fill;
using test::get;
using test::Source;
namespace shim = backend::cuda::shim;

constexpr std::size_t kib = 1024, mib = 1024 * kib;

/// Work runs only when somebody waits for it, so that every missing order is seen.
class FakePool : public backend::OverFake {
 protected:
  void SetUp() override {
    OverFake::SetUp();
    if (!IsSkipped()) {
      fake::set_behaviour({.seed = 1, .eagerness = 0, .polls_run_work = false});
    }
  }
};

/// Kernels read small elements by words of 16 bytes, the last ones of an array too.
TEST_F(FakePool, MemoryOfTheDriverIsInWholeWords) {
  const Stream s = stream();
  Resource device = device_resource(), pooled = driver_pool_resource();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{16}, std::size_t{999}}) {
    const std::size_t whole = (bytes + 15) / 16 * 16;
    const backend::cuda::LiveHandles before = shim::live();
    void* const a = device.allocate(s, bytes);
    void* const b = pooled.allocate(s, bytes);
    EXPECT_EQ(shim::live().device_bytes - before.device_bytes, whole);
    EXPECT_EQ(shim::live().pooled_bytes - before.pooled_bytes, whole);
    device.deallocate(s, a, bytes);
    pooled.deallocate(s, b, bytes);
  }
}

TEST_F(FakePool, AHitMakesNoDriverCall) {
  const Stream s = stream();
  for (const std::size_t bytes : {std::size_t{1}, 5 * kib, mib, 3 * mib, 70 * mib}) {
    for (int i = 0; i < 5; ++i) Buffer::allocate(bytes, s);
    const std::int64_t before = shim::calls();
    for (int i = 0; i < 10; ++i) {
      const auto a = Buffer::allocate(bytes, s);
      a->used_on(s);
    }
    EXPECT_EQ(shim::calls(), before) << bytes;
  }
}

TEST_F(FakePool, ManySmallBlocksComeFromOneSegment) {
  const Pool pool{device_resource()};
  const Stream s = stream();
  get(pool, 100, s);
  const std::int64_t before = shim::calls();
  std::vector<std::shared_ptr<Buffer>> all;
  for (int i = 0; i < 500; ++i) all.push_back(get(pool, 4 * kib, s));
  EXPECT_EQ(shim::calls(), before);
}

TEST_F(FakePool, EveryOrderOfTheWorkOfThreeStreamsIsRight) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    fake::set_behaviour({.seed = seed, .eagerness = 0.4});
    const Source source(6 * mib);
    const Pool pool{Resource(source)};
    const std::vector<Stream> streams{stream(), stream(), stream()};
    std::vector<std::pair<std::shared_ptr<Buffer>, std::uint32_t>> live;
    for (std::uint32_t i = 0; i < 60; ++i) {
      const Stream &home = streams[i % 3], &other = streams[(i * 7 + seed) % 3];
      auto buffer = get(pool, (1 + i * 37 % 40) * 16 * kib, home);
      fill(*buffer, i, home);
      if (i % 4 == 0) {
        other.wait_event(home.record());
        buffer->used_on(other);
        fill(*buffer, i, other);
      }
      live.emplace_back(std::move(buffer), i);
      if (live.size() < 6) continue;
      get_current_device().synchronize();
      for (const auto& [kept, value] : live) {
        ASSERT_EQ(ends(*kept, kept->stream()), std::pair(value, value)) << "seed " << seed;
      }
      live.erase(live.begin(), live.begin() + 4);
    }
  }
}

TEST_F(FakePool, MemoryThatTheDriverWillNotMarkIsNotReusedTooEarly) {
  for (const auto function : {DriverFunction::EventCreate, DriverFunction::EventRecord}) {
    const Source source(40 * mib);
    const Pool pool{Resource(source)};
    const Stream home = stream(), other = stream();
    auto first = get(pool, 40 * mib, home);
    first->used_on(other);
    fill(*first, 1, other);
    shim::inject({.code = CUDA_ERROR_OUT_OF_MEMORY, .function = function, .persistent = true});
    first.reset();
    shim::clear_faults();
    const auto second = get(pool, 40 * mib, home);
    fill(*second, 2, home);
    EXPECT_EQ(ends(*second, home), std::pair(2u, 2u));
    other.synchronize();
    EXPECT_EQ(ends(*second, home), std::pair(2u, 2u));
  }
}

TEST_F(FakePool, ADeviceThatHasLittleMoreGivesWhatItHas) {
  const std::size_t capacity = 12 * mib;
  trim_pool(get_current_device());
  const std::size_t used = fake::live().device_bytes;
  fake::set_memory(0, used + capacity);
  {
    const Pool pool{device_resource()};
    const Stream s = stream();
    std::vector<std::shared_ptr<Buffer>> all;
    for (int i = 0; i < 5; ++i) all.push_back(get(pool, 2 * mib, s));
    EXPECT_THROW(get(pool, 4 * mib, s), MemoryError);
    all.resize(2);
    EXPECT_NO_THROW(get(pool, 7 * mib, s));
  }
  fake::set_memory(0, std::size_t{1} << 30);
}

// --- the per-thread default stream
// ------------------------------------------------------------------

TEST_F(FakePool, ThePerThreadStreamIsAnotherOneInEachThread) {
  const Stream here = per_thread_default_stream();
  EXPECT_EQ(here, per_thread_default_stream());
  EXPECT_TRUE(here.is_default());
  std::thread([&] { EXPECT_NE(here, per_thread_default_stream()); }).join();
}

TEST_F(FakePool, FreedMemoryOfOneThreadsStreamIsNotTheOtherThreads) {
  const Source source;
  const Pool pool{Resource(source)};
  const Stream here = per_thread_default_stream();
  auto mine = get(pool, 40 * mib, here);
  const std::byte* const address = mine->data();
  fill(*mine, 1, here);
  mine.reset();
  std::thread([&] {
    const Stream there = per_thread_default_stream();
    EXPECT_NE(get(pool, 40 * mib, there)->data(), address);
    const auto by_the_other_handle = get(pool, 40 * mib, here);  // runs in this thread's stream
    EXPECT_NE(by_the_other_handle->data(), address);
  }).join();
  EXPECT_EQ(get(pool, 40 * mib, here)->data(), address);
}

TEST_F(FakePool, UnderPressureTheThreadsWaitForEachOther) {
  const Source source(40 * mib);
  const Pool pool{Resource(source)};
  const Stream here = per_thread_default_stream();
  auto mine = get(pool, 40 * mib, here);
  fill(*mine, 1, here);
  mine.reset();
  std::thread([&] {
    const Stream there = per_thread_default_stream();
    const auto block = get(pool, 40 * mib, there);
    fill(*block, 2, there);
    EXPECT_EQ(ends(*block, there), std::pair(2u, 2u));
    get_current_device().synchronize();
    EXPECT_EQ(ends(*block, there), std::pair(2u, 2u));
  }).join();
}

TEST_F(FakePool, MemoryThatAnotherThreadUsedThroughTheSameHandleWaitsForItsStream) {
  const Source source(40 * mib);
  const Pool pool{Resource(source)};
  const Stream here = per_thread_default_stream();
  auto mine = get(pool, 40 * mib, here);
  std::thread([&] {
    mine->used_on(here);
    fill(*mine, 1, here);  // goes into this thread's stream
  }).join();
  mine.reset();
  const auto block = get(pool, 40 * mib, here);
  fill(*block, 2, here);
  EXPECT_EQ(ends(*block, here), std::pair(2u, 2u));
  get_current_device().synchronize();
  EXPECT_EQ(ends(*block, here), std::pair(2u, 2u));
}

TEST_F(FakePool, MemoryOfAThreadThatEndedAtWorkIsUsedAfterIt) {
  const Source source(40 * mib);
  const Pool pool{Resource(source)};
  std::thread([&] {
    const Stream there = per_thread_default_stream();
    fill(*get(pool, 40 * mib, there), 1, there);
  }).join();
  const Stream s = stream();
  const auto block = get(pool, 40 * mib, s);
  fill(*block, 2, s);
  EXPECT_EQ(ends(*block, s), std::pair(2u, 2u));
  get_current_device().synchronize();
  EXPECT_EQ(ends(*block, s), std::pair(2u, 2u));
}

}  // namespace
}  // namespace quarry
