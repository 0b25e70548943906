// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

namespace quarry {
namespace {

using namespace std::chrono_literals;

/// Holds a stream until opened; opens by itself at the end of the scope.
class Gate {
 public:
  explicit Gate(const Stream& stream) : stream_(stream) {
    stream.add_callback([opened = opened_.get_future().share()](const Stream&) { opened.wait(); });
  }
  ~Gate() {
    open();
    try {
      stream_.synchronize();
    } catch (...) {
    }
  }
  void open() {
    if (!std::exchange(is_open_, true)) opened_.set_value();
  }

 private:
  std::promise<void> opened_;
  bool is_open_ = false;
  Stream stream_;
};

/// 0 + 1 + ... + 999, computed in the stream.
std::int64_t values_sum_on(const Stream& s) {
  return sum(arange<std::int64_t>(0, 1000, 1, {.stream = s})).item();
}

TEST(Stream, DefaultStreamsAreTheDevices) {
  EXPECT_EQ(default_stream(), Stream());
  EXPECT_TRUE(default_stream().is_default());
  EXPECT_FALSE(default_stream().is_external());
  EXPECT_EQ(default_stream().handle(), 0u);
  EXPECT_EQ(default_stream().device(), get_current_device());
  EXPECT_TRUE(legacy_default_stream().is_default());
  EXPECT_TRUE(per_thread_default_stream().is_default());
  if (!get_current_device().is_cpu()) {
    EXPECT_EQ(legacy_default_stream().handle(), 1u);
    EXPECT_EQ(per_thread_default_stream().handle(), 2u);
  }
  for (const Stream& s : {default_stream(), legacy_default_stream(), per_thread_default_stream()}) {
    const auto a = full<int>({10}, 3, {.stream = s});
    EXPECT_EQ(sum(a).item(), 30);
  }
}

TEST(Stream, NewStreamsDifferAndCopiesAreTheSame) {
  const Stream a = stream(), b = stream();
  EXPECT_FALSE(a == b);
  const Stream c = a;
  EXPECT_TRUE(a == c);
  EXPECT_FALSE(a.is_default());
  EXPECT_TRUE(a.is_done());
  EXPECT_EQ(a.device(), get_current_device());
}

TEST(Stream, PriorityIsClamped) {
  const Stream urgent = stream({.priority = -1000}), idle = stream({.priority = 1000});
  EXPECT_LE(urgent.priority(), idle.priority());
  EXPECT_GT(urgent.priority(), -1000);
  EXPECT_LT(idle.priority(), 1000);
  EXPECT_EQ(values_sum_on(stream({.non_blocking = true})), 499500);
}

TEST(Stream, WorkIsDoneInOrder) {
  const Stream s = stream();
  std::atomic<int> step = 0;
  int first = -1, second = -1;
  s.add_callback([&](const Stream&) { first = step++; });
  s.add_callback([&](const Stream&) { second = step++; });
  s.synchronize();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(Stream, IsDoneOnlyWhenItsWorkIs) {
  const Stream s = stream();
  Gate gate(s);
  EXPECT_FALSE(s.is_done());
  gate.open();
  s.synchronize();
  EXPECT_TRUE(s.is_done());
}

TEST(Stream, WhatACallbackThrowsComesOutOfTheNextSynchronize) {
  const Stream s = stream();
  s.add_callback([](const Stream&) { throw std::runtime_error("from the callback"); });
  s.add_callback([](const Stream&) { throw std::logic_error("the second one is dropped"); });
  try {
    s.synchronize();
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "from the callback");
  }
  EXPECT_NO_THROW(s.synchronize());
  EXPECT_EQ(values_sum_on(s), 499500);
}

TEST(Stream, AnEmptyCallbackIsRefused) { EXPECT_THROW(stream().add_callback({}), LogicError); }

TEST(Stream, ACallbackGetsItsStream) {
  const Stream s = stream();
  bool same = false;
  s.add_callback([&](const Stream& mine) { same = mine == s; });
  s.synchronize();
  EXPECT_TRUE(same);
}

TEST(Stream, TheLastHandleMayBeDroppedInACallback) {
  auto done = std::make_shared<std::promise<void>>();
  auto future = done->get_future();
  {
    auto s = std::make_unique<Stream>(stream());
    Stream& there = *s;
    there.add_callback([s = std::shared_ptr<Stream>(std::move(s)), done](const Stream&) mutable {
      s.reset();
      done->set_value();
    });
  }
  synchronize();
  EXPECT_EQ(future.wait_for(10s), std::future_status::ready);
  stream().synchronize();  // the library drops what the callback held
}

/// What a callback does with the device.
struct Use {
  const char* name;
  void (*run)(const Stream& stream, const DeviceNDArray<int>& array);
};
const std::vector<Use> uses = {
    {"computes",
     [](const Stream&, const DeviceNDArray<int>& a) { const DeviceNDArray<int> b = a + 1; }},
    {"reads", [](const Stream&, const DeviceNDArray<int>& a) { a(0).item(); }},
    {"fills", [](const Stream&, const DeviceNDArray<int>& a) { a.fill(3); }},
    {"synchronises", [](const Stream& s, const DeviceNDArray<int>&) { s.synchronize(); }},
    {"waits for all", [](const Stream&, const DeviceNDArray<int>&) { synchronize(); }},
    {"records", [](const Stream& s, const DeviceNDArray<int>&) { s.record(); }},
    {"calls back",
     [](const Stream& s, const DeviceNDArray<int>&) { s.add_callback([](auto&) {}); }},
    {"asks for a future", [](const Stream& s, const DeviceNDArray<int>&) { s.async_done(); }},
    {"makes a stream", [](const Stream&, const DeviceNDArray<int>&) { stream(); }},
};

TEST(Stream, ACallbackThatUsesTheDeviceThrowsALogicError) {
  const auto of_default = full<int>({10}, 1);
  for (const Stream& s : {stream(), stream({.non_blocking = true}), default_stream()}) {
    const auto of_the_stream = full<int>({10}, 1, {.stream = s});
    for (const Use& use : uses) {
      for (const DeviceNDArray<int>& a : {of_default, of_the_stream}) {
        s.add_callback([&](const Stream& mine) { use.run(mine, a); });
        try {
          s.synchronize();
          ADD_FAILURE() << use.name << " went through";
        } catch (const LogicError& e) {
          const std::string text = e.what();
          EXPECT_NE(text.find("a function that a stream calls on the host"), text.npos) << text;
        }
        EXPECT_NO_THROW(s.synchronize()) << use.name;
      }
    }
    EXPECT_EQ(values_sum_on(s), 499500);
  }
}

TEST(Stream, IsDoneAsSoonAsItsLastEventHasHappened) {
  const int rounds = Device().is_cpu() ? 20000 : 200;
  for (const bool non_blocking : {false, true}) {
    const Stream s = stream({.non_blocking = non_blocking});
    int not_done = 0, not_happened = 0;
    for (int i = 0; i < rounds; ++i) {
      const Event event = s.record();
      if (i % 2) {
        event.synchronize();
        not_done += !s.is_done() || !default_stream().is_done();
      } else {
        non_blocking ? s.synchronize() : default_stream().synchronize();
        not_happened += !event.query();
      }
    }
    EXPECT_EQ(not_done, 0);
    EXPECT_EQ(not_happened, 0);
  }
}

TEST(Stream, AsyncDoneIsReadyAfterTheWork) {
  const Stream s = stream();
  Gate gate(s);
  auto done = s.async_done();
  EXPECT_EQ(done.wait_for(20ms), std::future_status::timeout);
  gate.open();
  s.synchronize();
  EXPECT_EQ(done.get(), s);
}

TEST(Stream, AutoSynchronizeWaitsAtTheEndOfItsScope) {
  const Stream s = stream();
  std::atomic<bool> done = false;
  {
    const auto scope = s.auto_synchronize();
    EXPECT_EQ(*scope, s);
    s.add_callback([&](const Stream&) {
      std::this_thread::sleep_for(20ms);
      done = true;
    });
  }
  EXPECT_TRUE(done);
}

TEST(Stream, AutoSynchronizeDoesNotWaitForAnException) {
  const Stream s = stream();
  Gate gate(s);
  EXPECT_THROW(
      {
        const auto scope = s.auto_synchronize();
        throw 1;
      },
      int);
  EXPECT_FALSE(s.is_done());
}

TEST(Stream, AutoSynchronizeThrowsWhatACallbackThrew) {
  const Stream s = stream();
  EXPECT_THROW(
      {
        const auto scope = s.auto_synchronize();
        s.add_callback([](const Stream&) { throw std::out_of_range("late"); });
      },
      std::out_of_range);
}

TEST(Stream, WaitsForAnEventOfAnotherStream) {
  const Stream first = stream(), second = stream();
  Gate gate(first);
  const Event ready = first.record();
  second.wait_event(ready);
  EXPECT_FALSE(second.is_done());
  gate.open();
  second.synchronize();
  EXPECT_TRUE(ready.query());
}

TEST(Stream, DroppedWithPendingWorkItStillCompletes) {
  std::atomic<bool> done = false;
  DeviceNDArray<int> a;
  {
    const Stream s = stream();
    s.add_callback([](const Stream&) { std::this_thread::sleep_for(20ms); });
    a = full<int>({1000}, 5, {.stream = s});
    s.add_callback([&](const Stream&) { done = true; });
  }
  EXPECT_EQ(sum(a).item(), 5000);
  a.stream().synchronize();
  EXPECT_TRUE(done);
}

TEST(Stream, ExternalStreamsAreRefusedWhereTheyHaveNoMeaning) {
  if (get_current_device().is_cpu()) {
    EXPECT_THROW(external_stream(0x1000), LogicError);
    return;
  }
  EXPECT_THROW(external_stream(0), LogicError);
  const Stream mine = stream();
  const Stream foreign = external_stream(mine.handle());
  EXPECT_TRUE(foreign.is_external());
  EXPECT_EQ(values_sum_on(foreign), 499500);
}

TEST(Stream, ExternalStreamsOfOneHandleAreEqual) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "the CPU has no external streams";
  const Stream mine = stream(), other = stream();
  {
    const Stream a = external_stream(mine.handle());
    EXPECT_TRUE(a == external_stream(mine.handle()));
    EXPECT_FALSE(a == external_stream(other.handle()));
    EXPECT_FALSE(a == mine) << "the one destroys the queue at its end, the other does not";
    const auto used = ones<int>({10}, {.stream = a});
    EXPECT_TRUE(used.stream() == external_stream(mine.handle()));
  }
  EXPECT_EQ(external_stream(mine.handle()).handle(), mine.handle());
  EXPECT_TRUE(external_stream(1) == legacy_default_stream());
  EXPECT_TRUE(external_stream(2) == per_thread_default_stream());
}

TEST(Stream, OfAnotherDeviceIsRefused) {
  if (get_current_device().is_cpu()) GTEST_SKIP() << "needs a GPU beside the CPU";
  const Stream s = stream({.device = Device::cpu()});
  EXPECT_THROW(zeros<float>({3}, {.stream = s, .device = get_current_device()}), LogicError);
  const auto a = zeros<float>({3});
  std::vector<float> host(3);
  EXPECT_THROW(a.copy_to_host(host, s), LogicError);
  EXPECT_THROW(a.copy_to_device(host, s), LogicError);
}

TEST(Stream, GuardsNestAndAreOfTheThread) {
  const Stream s = stream(), t = stream();
  {
    const StreamGuard outer(s);
    {
      const StreamGuard inner(t);
      EXPECT_EQ(current_stream(), t);
      std::thread([] { EXPECT_EQ(current_stream(), default_stream()); }).join();
    }
    EXPECT_EQ(current_stream(), s);
  }
  EXPECT_EQ(current_stream(), default_stream());
}

TEST(Stream, ManyThreadsEachWithTheirStream) {
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&right] {
      const Stream s = stream();
      for (int k = 0; k < 5; ++k) right += values_sum_on(s) == 499500;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

/// b = a behind a = 1, in two streams that nothing but the rule of the default stream orders.
int seen_across(const Stream& first, const Stream& second) {
  const auto a = zeros<int>({5000}), b = zeros<int>({5000});
  default_stream().synchronize();
  a.bind(first).fill(1);
  b.bind(second)(all).assign(a.bind(second) + 0);
  first.synchronize();
  second.synchronize();
  return b(4999).item();
}

TEST(LegacyStream, WaitsForBlockingStreamsAndTheyForIt) {
  const bool is_fake = test::kind() == test::Kind::fake;
  const fake::Behaviour before = fake::behaviour();
  const Stream blocking = stream(), free = stream({.non_blocking = true});
  int unordered = 0;
  for (unsigned seed = 1; seed <= (is_fake ? 40 : 3); ++seed) {
    if (is_fake) fake::set_behaviour({.seed = seed});
    EXPECT_EQ(seen_across(blocking, legacy_default_stream()), 1) << seed;
    EXPECT_EQ(seen_across(legacy_default_stream(), blocking), 1) << seed;
    if (!is_fake) continue;  // these two race, and only the fake driver draws who is first
    unordered += seen_across(free, legacy_default_stream()) == 0;
    unordered += seen_across(legacy_default_stream(), free) == 0;
  }
  if (!is_fake) return;
  EXPECT_GT(unordered, 0) << "an order that needs no rule";
  fake::set_behaviour(before);
}

}  // namespace
}  // namespace quarry
