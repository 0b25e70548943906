// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using namespace std::chrono_literals;

void sleep_in(const Stream& s, std::chrono::milliseconds time) {
  s.add_callback([time](const Stream&) { std::this_thread::sleep_for(time); });
}

TEST(Event, NeverRecordedHasHappened) {
  const Event e;
  EXPECT_TRUE(e.query());
  EXPECT_NO_THROW(e.synchronize());
  EXPECT_NO_THROW(e.wait());
  EXPECT_EQ(e.device(), get_current_device());
}

TEST(Event, HappensWhenTheWorkBeforeItIsDone) {
  const Stream s = stream();
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  const Event e = event();
  e.record(s);
  EXPECT_FALSE(e.query());
  open.set_value();
  e.synchronize();
  EXPECT_TRUE(e.query());
  s.synchronize();
}

TEST(Event, MeasuresTheTimeBetween) {
  for (const Stream& s : {default_stream(), stream()}) {
    const Event begin, end;
    begin.record(s);
    sleep_in(s, 20ms);
    end.record(s);
    end.synchronize();
    const float ms = begin.elapsed_time(end);
    EXPECT_GE(ms, 15.f);
    EXPECT_LT(ms, 10000.f);
    EXPECT_EQ(event_elapsed_time(begin, end), ms);
    EXPECT_EQ(end.time_since(begin), ms);
    EXPECT_EQ(begin.time_till(end), ms);
    s.synchronize();
  }
}

TEST(Event, TimeThatCannotBeToldIsRefused) {
  const Stream s = stream();
  const Event recorded = s.record(), never;
  s.synchronize();
  EXPECT_THROW(recorded.elapsed_time(never), LogicError);
  EXPECT_THROW(never.elapsed_time(recorded), LogicError);
  const Event untimed = event(false);
  untimed.record(s);
  s.synchronize();
  EXPECT_THROW(recorded.elapsed_time(untimed), LogicError);
}

TEST(Event, TimeOfAPendingEventIsRefused) {
  const Stream s = stream();
  const Event begin = s.record();
  s.synchronize();
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  const Event end = s.record();
  EXPECT_THROW(begin.elapsed_time(end), LogicError);
  open.set_value();
  s.synchronize();
  EXPECT_GE(begin.elapsed_time(end), 0.f);
}

TEST(Event, RecordingAgainMovesIt) {
  const Stream s = stream();
  const Event begin, end;
  begin.record(s);
  end.record(s);
  s.synchronize();
  const float before = begin.elapsed_time(end);
  sleep_in(s, 20ms);
  end.record(s);
  end.synchronize();
  EXPECT_GT(begin.elapsed_time(end), before + 10.f);
}

TEST(Event, DestroyedBeforeItsWaitItStillHolds) {
  const Stream first = stream(), second = stream();
  std::promise<void> open;
  first.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  {
    const Event e = first.record();
    e.wait(second);
  }
  EXPECT_FALSE(second.is_done());
  open.set_value();
  second.synchronize();
  EXPECT_TRUE(first.record().device() == first.device());
  first.synchronize();
}

TEST(Event, OptionsThatExcludeEachOtherAreRefused) {
  EXPECT_THROW(Event({.timing = true, .interprocess = true}), LogicError);
  const Event sleepy({.blocking = true});
  sleepy.record().synchronize();
  EXPECT_TRUE(sleepy.query());
}

TEST(Event, OfBytesThatAreNoHandleIsRefused) {
  if (test::kind() == test::Kind::cuda) GTEST_SKIP() << "drivers have a code each for this";
  for (const int value : {0, 1, 0x7f, 0xff}) {
    IpcBytes bytes{};
    bytes.fill(std::byte(value));
    EXPECT_THROW(Event::from_ipc_handle(bytes), LogicError) << value;
  }
}

TEST(Event, OfAnotherDeviceIsRefusedToRecordButCanBeWaitedFor) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "needs a GPU beside the CPU";
  const Event on_cpu({.device = Device::cpu()});
  EXPECT_THROW(on_cpu.record(default_stream()), LogicError);
  on_cpu.record();
  on_cpu.wait(default_stream());
  const Event here = default_stream().record();
  EXPECT_THROW(here.elapsed_time(on_cpu), LogicError);
}

}  // namespace
}  // namespace quarry
