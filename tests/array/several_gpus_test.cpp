// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <quarry/array/ipc.hpp>
#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

#include "fake_driver/test_device.hpp"
#include "memory/raw/second_process.hpp"
#include "message_of.hpp"

/// Programs that use two GPUs of one machine.
namespace quarry {
namespace {

using test::first_process;
using test::Line;
using test::SecondProcess;

class TwoGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cpu || gpus.size() < 2) GTEST_SKIP() << "wants two GPUs";
  }

  template <class T>
  static std::vector<T> drawn(std::int64_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& x : values) x = static_cast<T>(static_cast<int>(random() % 200) - 100);
    return values;
  }
  template <class T>
  static std::vector<T> host(const DeviceNDArray<T>& array) {
    std::vector<T> got(static_cast<std::size_t>(array.size()));
    array.copy().reshape({array.size()}).copy_to_host(got);
    return got;
  }
};

/// Every view of 6 x 8 elements here has an own layout; the values are those of an index list.
template <class T>
std::vector<DeviceNDArray<T>> views_of(const DeviceNDArray<T>& a) {
  return {
      a,   a.transpose(), a(range(_, _, 2)), a(all, range(_, _, -1)), a(range(1, 5), range(2, 7)),
      a(3)};
}

template <class To, class From>
void expect_converted_copies(const Device& there, const Device& here) {
  const auto values = [] {
    std::vector<int> all(48);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }();
  const auto from = to_device(values, {.device = here}).template astype<From>().reshape({6, 8});
  const auto to = zeros<To>({6, 8}, {.device = there});
  const auto sources = views_of(from);
  const auto targets = views_of(to);
  for (std::size_t k = 0; k < sources.size(); ++k) {
    SCOPED_TRACE(k);
    to.fill(To{});
    targets[k].copy_to_device(sources[k]);
    const DeviceNDArray<To> same = zeros<To>({6, 8}, {.device = here});
    views_of(same)[k].copy_to_device(sources[k]);  // on one device
    EXPECT_TRUE(array_equal(to_device(to, here), same));
  }
}

TEST_F(TwoGpus, CopiesOfAnyLayoutConvertFromOneToTheOther) {
  for (const auto& [there, here] : {std::pair(gpus[1], gpus[0]), std::pair(gpus[0], gpus[1])}) {
    expect_converted_copies<float, float>(there, here);
    expect_converted_copies<double, float>(there, here);
    expect_converted_copies<std::int8_t, std::int64_t>(there, here);
    expect_converted_copies<std::complex<float>, std::int32_t>(there, here);
    expect_converted_copies<double, bool>(there, here);
  }
}

TEST_F(TwoGpus, CopiesAreOrderedBehindTheWorkOfBothStreams) {
  const Stream s = stream({.non_blocking = true, .device = gpus[0]}),
               t = stream({.non_blocking = true, .device = gpus[1]});
  constexpr std::int64_t n = 1 << 16;
  for (int k = 0; k < 10; ++k) {
    const auto a = full<float>({n}, static_cast<float>(k), {.stream = s});
    const auto b = full<float>({n}, -1.f, {.stream = t});
    a += 1.f;
    b.copy_to_device(a);  // queued in t
    a.fill(-7.f);         // after the copy has read it
    b *= 2.f;
    EXPECT_EQ(host(b), std::vector<float>(n, 2.f * static_cast<float>(k + 1)));
  }
}

TEST_F(TwoGpus, AnExpressionOfBothThrowsWithTheNamesOfBoth) {
  const auto a = ones<float>({4}, {.device = gpus[0]}), b = ones<float>({4}, {.device = gpus[1]});
  const std::string message =
      test::message_of<LogicError>([&] { const DeviceNDArray<float> c = a + b; });
  EXPECT_NE(message.find("cuda:0"), std::string::npos) << message;
  EXPECT_NE(message.find("cuda:1"), std::string::npos) << message;
  EXPECT_EQ(host(a), std::vector<float>(4, 1.f));
  EXPECT_EQ(host(b), std::vector<float>(4, 1.f));
}

TEST_F(TwoGpus, PoolsAreApart) {
  const auto active = [](int gpu) { return pool_statistics(gpus[gpu]).active_bytes; };
  const std::size_t first = active(0), second = active(1);
  const auto a = zeros<float>({1000}, {.device = gpus[1]});
  EXPECT_EQ(active(0), first);
  EXPECT_GE(active(1), second + 4000);
  EXPECT_EQ(pointer_info(DevicePtr(a.device_pointer())).device, gpus[1]);
  const DeviceGuard guard(gpus[1]);
  const auto b = zeros<float>({1000});
  EXPECT_EQ(b.device(), gpus[1]);
  EXPECT_EQ(active(0), first);
}

/// Each thread draws for its device: expressions, reductions, selections, graphs.
void compute(const Device& device, std::uint32_t seed) {
  const DeviceGuard on(device);
  const Stream s = stream();
  const StreamGuard in(s);
  std::mt19937 random(seed);
  std::vector<float> values(5000);
  for (float& x : values) x = static_cast<float>(random() % 1000);
  const auto a = to_device(values);
  const auto total = zeros<double>({});
  const Graph graph = capture([&] { total += sum(a.astype<double>() * 2.); });
  double expected = 0;
  std::vector<float> large;
  for (const float x : values) {
    expected += 2. * static_cast<double>(x);
    if (x > 500) large.push_back(x);
  }
  for (int k = 1; k <= 10; ++k) {
    graph();
    EXPECT_EQ(total.item(), expected * k);
    const DeviceNDArray<float> chosen = a(a > 500.f);
    EXPECT_EQ(chosen.copy_to_host<std::vector<float>>(), large);
    EXPECT_EQ(chosen.device(), device);
  }
}

TEST_F(TwoGpus, ThreadsComputeOnADeviceEach) {
  std::vector<std::thread> threads;
  for (std::uint32_t k = 0; k < 6; ++k) {
    threads.emplace_back([k] { compute(gpus[static_cast<int>(k % 2)], k); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Device(), get_current_device());
}

TEST_F(TwoGpus, EventsOrderStreamsOfBoth) {
  const Stream s = stream({.non_blocking = true, .device = gpus[0]}),
               t = stream({.non_blocking = true, .device = gpus[1]});
  constexpr std::int64_t n = 1 << 18;
  const auto a = zeros<float>({n}, {.stream = s}), b = zeros<float>({n}, {.stream = t});
  for (int k = 1; k <= 20; ++k) {
    a += 1.f;
    t.wait_event(s.record());
    b.copy_to_device(a);
    b += 0.5f;
    s.wait_event(t.record());
    a.copy_to_device(b);
  }
  EXPECT_EQ(host(a), std::vector<float>(n, 30.f));
}

TEST_F(TwoGpus, WorkGoesToTheDeviceOfItsArraysWhateverIsCurrent) {
  const auto b = to_device(drawn<float>(1000, 1), {.device = gpus[1]});
  const DeviceGuard guard(gpus[0]);
  const DeviceNDArray<float> c = b * 2.f + 1.f;
  EXPECT_EQ(c.device(), gpus[1]);
  EXPECT_EQ(c.stream().device(), gpus[1]);
  std::vector<float> want = drawn<float>(1000, 1);
  for (float& x : want) x = x * 2 + 1;
  EXPECT_EQ(host(c), want);
  EXPECT_EQ(Device(), gpus[0]);
}

/// Opens the first GPU's memory on the second one.
TEST(IpcOnAnotherGpuSecondProcess, DoublesIt) {
  const Line* const line = first_process();
  if (!line) GTEST_SKIP() << "the second process of another test";
  auto handle = IpcArrayHandle::from_bytes(line->receive());
  const auto array = handle.open<float>(gpus[1]);
  EXPECT_EQ(array.device(), gpus[1]);
  array *= 2.f;  // a kernel of the second GPU
  array.stream().synchronize();
  line->signal();
}

TEST_F(TwoGpus, MemoryOfAnotherProcessIsOpenedOnTheOtherGpu) {
  if (!gpus[1].can_access_peer(gpus[0])) GTEST_SKIP() << "these GPUs are no peers";
  const auto a = to_device(drawn<float>(1000, 5), {.device = gpus[0]});
  a.stream().synchronize();
  const SecondProcess second("IpcOnAnotherGpuSecondProcess.DoublesIt");
  second->send(get_ipc_handle(a).to_bytes());
  second->wait();
  std::vector<float> want = drawn<float>(1000, 5);
  for (float& x : want) x *= 2;
  EXPECT_EQ(host(a), want);
}

}  // namespace
}  // namespace quarry
