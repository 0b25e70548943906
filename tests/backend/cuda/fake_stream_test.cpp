// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/fake_device.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include <quarry/base/error.hpp>

namespace quarry::backend {
namespace {

using FakeStreams = OverFake;

TEST_F(FakeStreams, DevicesAreWhatTheDriverSays) {
  ASSERT_EQ(cuda_devices().size(), 2U);
  EXPECT_TRUE(cuda_status().available);
  EXPECT_EQ(cuda_status().driver_version, std::pair(13, 0));
  EXPECT_EQ(cuda_status().nvrtc_version, std::pair(13, 0));
  EXPECT_EQ(gpu().info().name, "Fake H200");
  EXPECT_EQ(gpu().info().compute_capability, std::pair(9, 0));
  EXPECT_NE(gpu().info().uuid, cuda_devices()[1]->info().uuid);
  EXPECT_EQ(gpu().attributes().at("MULTIPROCESSOR_COUNT"), 132);
  EXPECT_TRUE(gpu().can_access_peer(*cuda_devices()[1]));
  EXPECT_FALSE(gpu().can_access_peer(cpu()));
}

TEST_F(FakeStreams, MemoryRunsOutWithoutAnException) {
  const MemoryInfo info = gpu().memory_info();
  EXPECT_EQ(info.total, std::size_t{1} << 30);
  EXPECT_EQ(gpu().allocate(info.total + 1), nullptr);
  void* const block = gpu().allocate(1 << 20);
  EXPECT_EQ(info.free - gpu().memory_info().free, std::size_t{1} << 20);
  gpu().free(block, 1 << 20);
}

TEST_F(FakeStreams, EveryKindOfCopy) {
  const std::vector<int> values{1, 2, 3, 4, 5, 6, 7, 8};
  const OnDevice<int> a(gpu(), values), b(gpu(), std::vector<int>(8));
  const Stream stream = gpu().create_stream({});
  for (const Stream s :
       {Stream{nullptr}, stream, gpu().legacy_stream(), gpu().per_thread_stream()}) {
    gpu().copy({Direction::device_to_device, b.data(), a.data(), 16}, s, false);
    gpu().copy({Direction::device_to_device, b.data() + 4, a.data() + 4, 16}, s, false);
    EXPECT_EQ(b.values(s), values);
  }
  std::array<int, 4> corner{};
  gpu().copy({Direction::device_to_host, corner.data(), a.data() + 1, 8, 2, 8, 16}, stream, true);
  EXPECT_EQ(corner, (std::array{2, 3, 6, 7}));
  gpu().copy({Direction::host_to_device, b.data(), corner.data(), 4, 4, 8, 4}, stream, false);
  corner = {};
  EXPECT_EQ(b.values(stream), (std::vector{2, 2, 3, 4, 6, 6, 7, 8}));
  gpu().destroy_stream(stream);
}

TEST_F(FakeStreams, FillsOfEveryPattern) {
  const auto check = [&]<class T>(T value, T before) {
    const OnDevice<T> memory(gpu(), std::vector<T>(7, before));
    gpu().fill(memory.data() + 1, &value, sizeof value, 5, nullptr);
    const std::vector<T> expected{before, value, value, value, value, value, before};
    EXPECT_TRUE(memory.values() == expected) << sizeof value;
  };
  check(std::uint8_t{0x12}, std::uint8_t{1});
  check(std::uint16_t{0x1234}, std::uint16_t{1});
  check(std::uint32_t{0x12345678}, std::uint32_t{1});
  check(std::uint64_t{0x123456789abcdef0}, std::uint64_t{1});
  check(0.0, 1.0);
  using Pair = std::array<double, 2>;
  check(Pair{1.5, -2.5}, Pair{0, 1});
}

TEST_F(FakeStreams, EventsOrderStreamsForEverySeed) {
  const OnDevice<std::uint8_t> memory(gpu(), {0});
  const Stream a = gpu().create_stream(StreamOrder::independent);
  const Stream b = gpu().create_stream(StreamOrder::independent);
  const Event event = gpu().create_event({});
  EXPECT_TRUE(gpu().query(event));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    behave(seed, 0);
    const std::uint8_t one = 1, two = 2;
    gpu().fill(memory.data(), &one, 1, 1, a);
    gpu().record(event, a);
    gpu().wait(b, event);
    gpu().fill(memory.data(), &two, 1, 1, b);
    EXPECT_FALSE(gpu().is_done(b));
    gpu().synchronize(b);
    EXPECT_TRUE(gpu().query(event));
    EXPECT_EQ(memory.values(b), std::vector<std::uint8_t>{2});
  }
  gpu().destroy_event(event);
  gpu().destroy_stream(a);
  gpu().destroy_stream(b);
}

TEST_F(FakeStreams, ElapsedTimeGrows) {
  const OnDevice<std::uint8_t> memory(gpu(), {0});
  const Event start = gpu().create_event({}), end = gpu().create_event({});
  gpu().record(start, nullptr);
  gpu().fill(memory.data(), "x", 1, 1, nullptr);
  gpu().record(end, nullptr);
  gpu().wait(end);
  EXPECT_GT(gpu().elapsed_ms(start, end), 0);
  gpu().destroy_event(start);
  gpu().destroy_event(end);
}

TEST_F(FakeStreams, HostCallsRunBehindTheWorkAndPendingWorkSurvivesItsStream) {
  std::atomic<int> calls = 0;
  const Stream stream = gpu().create_stream({});
  const auto count = [](void* state) { ++*static_cast<std::atomic<int>*>(state); };
  for (int i = 0; i < 3; ++i) gpu().host_call(stream, count, &calls);
  gpu().destroy_stream(stream);
  gpu().synchronize();
  EXPECT_EQ(calls, 3);
}

TEST_F(FakeStreams, ThreadsQueueSideBySideInTheBackground) {
  fake::set_behaviour({.background = true});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      const Stream stream = gpu().create_stream({});
      const OnDevice<int> memory(gpu(), std::vector<int>(100));
      for (int i = 0; i < 50; ++i) {
        const int value = 100 * t + i;
        gpu().fill(memory.data(), &value, sizeof value, 100, stream);
      }
      while (!gpu().is_done(stream)) std::this_thread::yield();
      EXPECT_EQ(memory.values(stream), std::vector<int>(100, 100 * t + 49));
      gpu().destroy_stream(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FakeStreams, CallerMistakesAreTypedAndLeaveTheDeviceUsable) {
  const OnDevice<int> memory(gpu(), {1, 2});
  const std::array<int, 4> host{};
  EXPECT_THROW(
      gpu().copy({Direction::host_to_device, memory.data(), host.data(), 16}, nullptr, true),
      LogicError);
  EXPECT_EQ(fake::take_faults().size(), 1U);
  EXPECT_EQ(memory.values(), (std::vector{1, 2}));
}

}  // namespace
}  // namespace quarry::backend
