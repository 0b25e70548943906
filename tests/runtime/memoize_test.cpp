// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/memoize.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <quarry/quarry.hpp>

namespace quarry {
namespace {

TEST(Memoize, CallsOnceForEachValueOfTheArguments) {
  int calls = 0;
  const auto twice = context_dependent_memoize([&](auto x) {
    ++calls;
    return x + x;
  });
  EXPECT_EQ(twice(3), 6);
  EXPECT_EQ(twice(3), 6);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(twice(4), 8);
  EXPECT_EQ(twice(std::string("ab")), "abab");
  EXPECT_EQ(twice(3.0), 6.0);  // of another type
  EXPECT_EQ(calls, 4);
  const auto copy = twice;
  EXPECT_EQ(copy(4), 8);
  EXPECT_EQ(calls, 4);
}

TEST(Memoize, ComparesTextsByTheirCharacters) {
  int calls = 0;
  const auto length = context_dependent_memoize([&](const std::string& text) {
    ++calls;
    return text.size();
  });
  char text[] = "abc";
  EXPECT_EQ(length(text), 3u);
  EXPECT_EQ(length("abc"), 3u);
  EXPECT_EQ(length(std::string("abc")), 3u);
  EXPECT_EQ(calls, 1);
  text[1] = 0;
  EXPECT_EQ(length(text), 1u);
  EXPECT_EQ(calls, 2);
}

TEST(Memoize, KeepsTheCharactersOfViewsOfTexts) {
  const auto first = context_dependent_memoize([](std::string_view text) { return text[0]; });
  std::string name = "abc";
  EXPECT_EQ(first(std::string_view(name)), 'a');
  name = "xyz";
  EXPECT_EQ(first(std::string_view(name)), 'x');
}

TEST(Memoize, KeepsResultsApartByDevice) {
  const auto where = context_dependent_memoize([] { return to_string(get_current_device()); });
  std::vector<Device> devices{Device::cpu()};
  if (!Device().is_cpu())
    devices.assign(gpus.begin(), gpus.end()), devices.push_back(Device::cpu());
  for (int round = 0; round < 2; ++round) {
    for (const Device& device : devices) {
      EXPECT_EQ(with_device(device, [&] { return where(); }), to_string(device));
    }
  }
}

TEST(Memoize, IsCleared) {
  int calls = 0;
  const auto held =
      context_dependent_memoize([&](int) { return ++calls, std::make_shared<int>(); });
  std::weak_ptr<int> first = held(1);
  EXPECT_FALSE(first.expired());
  clear_context_caches();
  EXPECT_TRUE(first.expired());
  held(1);
  EXPECT_EQ(calls, 2);
  {
    const DeviceGuard guard(Device::cpu());
    held(1);
  }
  const int before = calls;
  clear_context_caches(Device::cpu());
  held(1);
  EXPECT_EQ(calls, Device().is_cpu() ? before + 1 : before);
  with_device(Device::cpu(), [&] { held(1); });
  EXPECT_EQ(calls, before + 1);
  clear_context_caches();
}

TEST(Memoize, EndsWithTheContextOfTheDevice) {
  const auto array = context_dependent_memoize([](int n) { return zeros<float>({n}); });
  const Device device;
  array(100).fill(1);
  EXPECT_NO_THROW(device.reset());  // which the array would have stopped
  EXPECT_EQ(sum(array(100)).item(), 0);
  array(100).fill(1);
  close();
  EXPECT_EQ(sum(array(100)).item(), 0);
  clear_context_caches();
}

TEST(Memoize, CallsAgainAfterAnException) {
  int calls = 0;
  const auto second = context_dependent_memoize([&] {
    if (++calls == 1) throw std::runtime_error("the first time");
    return calls;
  });
  EXPECT_THROW(second(), std::runtime_error);
  EXPECT_EQ(second(), 2);
  EXPECT_EQ(second(), 2);
}

TEST(Memoize, MayCallItself) {
  int calls = 0;
  std::function<long(int)> factorial;
  factorial = context_dependent_memoize([&](int n) -> long {
    ++calls;
    return n < 2 ? 1 : n * factorial(n - 1);
  });
  EXPECT_EQ(factorial(10), 3628800);
  EXPECT_EQ(factorial(9), 362880);
  EXPECT_EQ(calls, 10);
}

TEST(Memoize, ThreadsThatAskForOneResultWaitForIt) {
  std::atomic<int> calls = 0;
  const auto slow = context_dependent_memoize([&](int n) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return n * n;
  });
  const Device device;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const DeviceGuard guard(device);
      right += slow(t % 2) == t % 2 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(calls, 2);
}

TEST(Memoize, IsClearedWhileOthersUseIt) {
  const auto held = context_dependent_memoize([](int n) { return std::make_shared<int>(n); });
  const Device device;
  std::atomic<bool> stop = false, is_right = true;
  std::thread other([&] {
    const DeviceGuard guard(device);
    for (int i = 0; !stop; ++i) {
      if (*held(i % 16) != i % 16) is_right = false;
    }
  });
  for (int i = 0; i < 1000; ++i) clear_context_caches();
  stop = true;
  other.join();
  EXPECT_TRUE(is_right);
}

}  // namespace
}  // namespace quarry
