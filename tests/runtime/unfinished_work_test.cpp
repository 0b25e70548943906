// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "fake_driver/test_device.hpp"
#include "gate.hpp"
#include "runtime/unfinished_work.hpp"

namespace quarry {
namespace {

using detail::UnfinishedWork;

Stream free_stream() { return stream({.non_blocking = true}); }
std::size_t events() {
  return get_current_device().backend().ledger().inventory()[backend::Owned::event].count;
}

TEST(UnfinishedWork, IsEmptyWhereNothingIsQueued) {
  EXPECT_TRUE(UnfinishedWork().is_empty());
  const Stream s = free_stream(), t = free_stream();
  const Stream others[] = {t, default_stream()};
  UnfinishedWork work(s, others);
  EXPECT_TRUE(work.is_empty());
  EXPECT_TRUE(work.is_done());
  work.wait();
}

/// One stream after the other is held back by itself.
void expect_done_when_every_stream_is(const std::vector<Stream>& streams) {
  for (const Stream& held : streams) {
    test::Gate gate(held);
    UnfinishedWork work(streams[0], std::span(streams).subspan(1));
    EXPECT_FALSE(work.is_done());
    EXPECT_FALSE(work.is_empty());
    gate.open();
    for (const Stream& s : streams) s.synchronize();
    EXPECT_TRUE(work.is_done());
    EXPECT_TRUE(work.is_empty());
  }
}

TEST(UnfinishedWork, IsDoneWhenEveryStreamIs) {
  expect_done_when_every_stream_is({free_stream(), free_stream(), free_stream()});
}

TEST(UnfinishedWork, OfSeveralDevices) {
  if (gpus.size() < 2) GTEST_SKIP() << "wants two devices";
  expect_done_when_every_stream_is({free_stream(),
                                    stream({.non_blocking = true, .device = Device::cuda(1)}),
                                    stream({.non_blocking = true, .device = Device::cpu()})});
}

TEST(UnfinishedWork, IsWhatTheStreamsHeldWhenItWasMade) {
  const Stream s = free_stream();
  auto first = std::make_unique<test::Gate>(s);
  UnfinishedWork work(s, {});
  const Event behind = s.record();
  test::Gate later(s);
  first->open();
  behind.synchronize();
  EXPECT_TRUE(work.is_done()) << "what was queued afterwards does not count";
  UnfinishedWork more(s, {});
  EXPECT_FALSE(more.is_done());
  later.open();
  more.wait();
  EXPECT_TRUE(s.is_done());
  EXPECT_TRUE(more.is_done());
}

TEST(UnfinishedWork, IsWaitedForInEveryStream) {
  const std::vector<Stream> streams = {free_stream(), free_stream(), free_stream()};
  for (const Stream& held : streams) {
    auto gate = std::make_unique<test::Gate>(held);
    UnfinishedWork work(streams[0], std::span(streams).subspan(1));
    std::thread opener([&] { gate.reset(); });
    work.wait();
    EXPECT_TRUE(held.is_done());
    EXPECT_TRUE(work.is_empty());
    opener.join();
  }
}

/// Held streams of no concern, whatever the home stream waits for by itself.
TEST(UnfinishedWork, ToRememberItWaitsForNoOtherStream) {
  const Stream blocking = stream(), own = free_stream();
  test::Gate gate(blocking);
  UnfinishedWork of_own(own, {});
  EXPECT_TRUE(of_own.is_empty());
  if (get_current_device().is_cpu()) {
    EXPECT_TRUE(UnfinishedWork(default_stream(), {}).is_empty());
    const Stream defaults[] = {default_stream(), per_thread_default_stream()};
    EXPECT_TRUE(UnfinishedWork(own, defaults).is_empty());
  }
  EXPECT_FALSE(blocking.is_done());
}

/// The handle of a per-thread stream means another queue here, which tells nothing of that one.
TEST(UnfinishedWork, OfAnotherThreadsStreamIsWaitedFor) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "has no streams of threads";
  std::optional<Stream> theirs;
  Event end;
  std::thread([&] {
    theirs = per_thread_default_stream();
    const auto a = full<float>({1000}, 2.f, {.stream = *theirs});
    end.record(*theirs);
  }).join();
  EXPECT_TRUE(UnfinishedWork(*theirs, {}).is_empty());
  EXPECT_TRUE(end.query());
}

TEST(UnfinishedWork, HasNoEventsAfterwards) {
  const Stream idle = free_stream(), s = free_stream();
  const std::size_t before = events();
  for (const bool waits : {true, false}) {
    test::Gate gate(s);
    UnfinishedWork work(idle, {&s, 1});
    EXPECT_EQ(events(), before + 1);
    UnfinishedWork moved = std::move(work);
    gate.open();
    if (waits) {
      moved.wait();
    } else {
      s.synchronize();
      EXPECT_TRUE(moved.is_done());
    }
    EXPECT_EQ(events(), before);
  }
}

}  // namespace
}  // namespace quarry
