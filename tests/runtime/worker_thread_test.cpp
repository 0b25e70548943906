// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

/// Threads that begin with no device, context or stream of their own.
namespace quarry {
namespace {

std::vector<int> counted(int n) {
  std::vector<int> list(static_cast<std::size_t>(n));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

TEST(WorkerThread, SelectsAndClosesEveryGpuAgainAndAgain) {
  const Device before = get_current_device();
  std::thread([] {
    for (const Device gpu : gpus) {
      for (int round = 0; round < 2; ++round) {
        select_device(gpu.id());
        EXPECT_EQ(sum(ones<int>({10})).item(), 10);
        close();
      }
    }
  }).join();
  EXPECT_EQ(get_current_device(), before);
  EXPECT_EQ(sum(ones<int>({10})).item(), 10);
}

TEST(WorkerThread, OneAfterAnotherHasAStreamAndACopyInIt) {
  const std::vector<int> host = counted(100);
  int right = 0;
  for (int i = 0; i < 10; ++i) {
    std::thread([&] {
      if (!gpus.empty()) select_device(0);
      const Stream s = stream();
      {
        const auto a = to_device(host, s);
        s.synchronize();
        right += sum(a).item() == 4950;
      }
      current_context().synchronize();
    }).join();
  }
  EXPECT_EQ(right, 10);
}

TEST(WorkerThread, ManyReadOneArrayAtOnce) {
  const std::vector<int> host = counted(1000);
  const auto a = to_device(host);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&] {
      std::vector<int> back(host.size());
      a.copy_to_host(back);
      right += back == host;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 10);
}

TEST(WorkerThread, ReadsAndCopiesWhatAnotherHasMade) {
  DeviceNDArray<int> made, copied;
  std::vector<int> back(100);
  std::thread([&] { made = to_device(counted(100)); }).join();
  std::thread([&] { copied = made.copy(); }).join();
  std::thread([&] { copied.copy_to_host(back); }).join();
  EXPECT_EQ(back, counted(100));
}

}  // namespace
}  // namespace quarry
