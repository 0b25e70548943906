// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <quarry/base/error.hpp>
#include "backend/backend.hpp"
#include "backend/cpu/stream.hpp"

namespace quarry::backend {
namespace {

using std::chrono::milliseconds;

class TestStream {
 public:
  explicit TestStream(StreamOrder order = {}, int priority = 0)
      : handle_(cpu().create_stream(order, priority)) {}
  ~TestStream() { cpu().destroy_stream(handle_); }
  TestStream(const TestStream&) = delete;
  operator Stream() const { return handle_; }

 private:
  Stream handle_;
};

class TestEvent {
 public:
  explicit TestEvent(EventKind kind = {}) : handle_(cpu().create_event(kind)) {}
  ~TestEvent() { cpu().destroy_event(handle_); }
  TestEvent(const TestEvent&) = delete;
  operator Event() const { return handle_; }

 private:
  Event handle_;
};

/// Holds a stream until opened.
class Gate {
 public:
  explicit Gate(Stream stream) : stream_(stream) {
    cpu().host_call(
        stream, [](void* s) { static_cast<std::atomic<bool>*>(s)->wait(false); }, &open_);
  }
  ~Gate() {
    open();
    cpu().synchronize(stream_);
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  Stream stream_;
  std::atomic<bool> open_ = false;
};

void add_one(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }
void sleep_and_add(void* counter) {
  std::this_thread::sleep_for(milliseconds(20));
  add_one(counter);
}

TEST(CpuStream, RunsWorkInOrder) {
  struct Step {
    std::vector<int>* seen;
    int number;
  };
  std::vector<int> seen, expected;
  std::vector<Step> steps(1000);
  {
    TestStream stream;
    for (int i = 0; i < 1000; ++i) {
      expected.push_back(i);
      steps[static_cast<std::size_t>(i)] = {&seen, i};
      const auto append = [](void* s) {
        static_cast<Step*>(s)->seen->push_back(static_cast<Step*>(s)->number);
      };
      cpu().host_call(stream, append, &steps[static_cast<std::size_t>(i)]);
    }
    cpu().synchronize(stream);
  }
  EXPECT_EQ(seen, expected);
}

TEST(CpuStream, IsAsynchronousAndTellsWhenDone) {
  std::atomic<int> ran = 0;
  TestStream stream;
  EXPECT_TRUE(cpu().is_done(stream));
  Gate gate(stream);
  cpu().host_call(stream, add_one, &ran);
  EXPECT_FALSE(cpu().is_done(stream));
  EXPECT_EQ(ran, 0);
  gate.open();
  cpu().synchronize(stream);
  EXPECT_TRUE(cpu().is_done(stream));
  EXPECT_EQ(ran, 1);
}

TEST(CpuStream, DefaultStreamRunsAtOnceOnTheCallingThread) {
  for (const Stream stream : {Stream{}, cpu().legacy_stream(), cpu().per_thread_stream()}) {
    std::thread::id thread;
    cpu().host_call(
        stream, [](void* id) { *static_cast<std::thread::id*>(id) = std::this_thread::get_id(); },
        &thread);
    EXPECT_EQ(thread, std::this_thread::get_id());
    EXPECT_TRUE(cpu().is_done(stream));
  }
}

TEST(CpuStream, DefaultStreamWaitsForBlockingStreams) {
  std::atomic<int> ran = 0;
  TestStream stream;
  cpu().host_call(stream, sleep_and_add, &ran);
  EXPECT_FALSE(cpu().is_done(nullptr));
  int seen = 0;
  struct Look {
    std::atomic<int>& ran;
    int& seen;
  } look{ran, seen};
  cpu().host_call(
      nullptr, [](void* l) { static_cast<Look*>(l)->seen = static_cast<Look*>(l)->ran; }, &look);
  EXPECT_EQ(seen, 1);
}

TEST(CpuStream, DefaultStreamDoesNotWaitForNonBlockingStreams) {
  std::atomic<int> ran = 0;
  TestStream stream(StreamOrder::independent);
  Gate gate(stream);
  cpu().host_call(nullptr, add_one, &ran);
  cpu().synchronize(nullptr);
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(cpu().is_done(stream));
}

TEST(CpuStream, DestroyLetsPendingWorkComplete) {
  std::atomic<int> ran = 0;
  const Stream stream = cpu().create_stream({});
  for (int i = 0; i < 3; ++i) cpu().host_call(stream, sleep_and_add, &ran);
  cpu().destroy_stream(stream);
  cpu().synchronize();
  EXPECT_EQ(ran, 3);
}

TEST(CpuStream, DeviceSynchronizeWaitsForEveryStream) {
  std::atomic<int> ran = 0;
  TestStream a, b(StreamOrder::independent, -5);
  cpu().host_call(a, sleep_and_add, &ran);
  cpu().host_call(b, sleep_and_add, &ran);
  cpu().synchronize();
  EXPECT_EQ(ran, 2);
}

TEST(CpuStream, StartsAgainAfterItsThreadEnded) {
  std::atomic<int> ran = 0;
  TestStream stream;
  for (int i = 0; i < 2; ++i) {
    cpu().host_call(stream, add_one, &ran);
    cpu().synchronize(stream);
    EXPECT_EQ(ran, i + 1);
    if (i == 0) std::this_thread::sleep_for(milliseconds(1200));
  }
}

TEST(CpuStream, TakesWorkFromManyThreads) {
  std::atomic<int> ran = 0;
  TestStream a, b;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) cpu().host_call(i % 2 ? Stream(a) : Stream(b), add_one, &ran);
      cpu().host_call(nullptr, add_one, &ran);
    });
  }
  for (auto& thread : threads) thread.join();
  cpu().synchronize();
  EXPECT_EQ(ran, 804);
}

TEST(CpuStream, KeepsAnExceptionAndLeavesOutWhatIsBehindItUntilItIsReported) {
  const auto queue = std::make_shared<cpu_backend::Queue>(false, 1);
  int ran = 0;
  const auto submit = [&](auto f) {
    queue->submit(std::make_unique<cpu_backend::TaskOf<decltype(f)>>(f));
  };
  submit([] { throw std::runtime_error("first"); });
  submit([] { throw std::runtime_error("second"); });
  submit([&] { ++ran; });
  std::exception_ptr told;
  submit([&](const std::exception_ptr& failed) { told = failed; });
  queue->wait();
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(told);
  try {
    queue->synchronize();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  submit([&] { ++ran; });
  EXPECT_NO_THROW(queue->synchronize());
  EXPECT_EQ(ran, 1);
  queue->close();
}

TEST(CpuEvent, MarksAPointOfAStream) {
  TestStream stream;
  TestEvent event;
  EXPECT_TRUE(cpu().query(event));
  cpu().wait(event);
  std::atomic<int> ran = 0;
  Gate gate(stream);
  cpu().host_call(stream, add_one, &ran);
  cpu().record(event, stream);
  EXPECT_FALSE(cpu().query(event));
  gate.open();
  cpu().wait(event);
  EXPECT_TRUE(cpu().query(event));
  EXPECT_EQ(ran, 1);
}

TEST(CpuEvent, CarriesErrorsFromStreamToStreamUnlessItIsForOrderOnly) {
  const auto fail = [] { throw std::runtime_error("of the first stream"); };
  for (const EventKind kind : {EventKind::timed, EventKind::untimed, EventKind::order_only}) {
    TestStream a(StreamOrder::independent), b(StreamOrder::independent);
    TestEvent event(kind);
    Gate gate(a);
    cpu_backend::Streams::queue(a)->submit(
        std::make_unique<cpu_backend::TaskOf<decltype(fail)>>(fail));
    cpu().record(event, a);
    cpu().wait(b, event);
    gate.open();
    if (kind == EventKind::order_only) {
      EXPECT_NO_THROW(cpu().synchronize(b));
    } else {
      EXPECT_THROW(cpu().synchronize(b), std::runtime_error);
    }
    EXPECT_THROW(cpu().synchronize(a), std::runtime_error) << "its own error, whoever else has it";
  }
}

TEST(CpuEvent, OrdersOneStreamAfterAnother) {
  TestStream a, b(StreamOrder::independent);
  TestEvent event;
  std::atomic<int> ran = 0;
  Gate gate(a);
  cpu().record(event, a);
  cpu().wait(b, event);
  cpu().host_call(b, add_one, &ran);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(ran, 0);
  gate.open();
  cpu().synchronize(b);
  EXPECT_EQ(ran, 1);
}

TEST(CpuEvent, AWaitHoldsTheRecordingItWasGiven) {
  TestStream a(StreamOrder::independent), b(StreamOrder::independent), c(StreamOrder::independent);
  TestEvent event;
  std::atomic<int> ran = 0;
  Gate gate(a);
  cpu().record(event, a);
  cpu().wait(c, event);
  cpu().host_call(c, add_one, &ran);
  cpu().record(event, b);
  cpu().wait(event);
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(ran, 0);
  gate.open();
  cpu().synchronize(c);
  EXPECT_EQ(ran, 1);
}

TEST(CpuEvent, MayBeDestroyedWhilePending) {
  TestStream stream;
  Gate gate(stream);
  const Event event = cpu().create_event({});
  cpu().record(event, stream);
  cpu().wait(stream, event);
  cpu().destroy_event(event);
  gate.open();
  cpu().synchronize(stream);
}

TEST(CpuEvent, MeasuresTime) {
  TestStream stream;
  TestEvent start, end;
  std::atomic<int> ran = 0;
  cpu().record(start, stream);
  cpu().host_call(stream, sleep_and_add, &ran);
  cpu().record(end, stream);
  cpu().synchronize(stream);
  const float ms = cpu().elapsed_ms(start, end);
  EXPECT_GE(ms, 20.0F);
  EXPECT_LT(ms, 5000.0F);
  EXPECT_FLOAT_EQ(cpu().elapsed_ms(end, start), -ms);
}

TEST(CpuEvent, RefusesTimesThatDoNotExist) {
  TestStream stream(StreamOrder::independent);
  TestEvent done, never, untimed(EventKind::untimed), pending;
  cpu().record(done, nullptr);
  cpu().record(untimed, nullptr);
  Gate gate(stream);
  cpu().record(pending, stream);
  for (const Event bad : {Event(never), Event(untimed), Event(pending)}) {
    EXPECT_THROW(cpu().elapsed_ms(done, bad), LogicError);
    EXPECT_THROW(cpu().elapsed_ms(bad, done), LogicError);
  }
  EXPECT_THROW(cpu().create_event(EventKind::interprocess), LogicError);
}

}  // namespace
}  // namespace quarry::backend
