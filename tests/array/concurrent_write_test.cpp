// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace quarry {
namespace {

/// Threads that write one array without an order among them: each element is what one of them
/// wrote, and the array itself, its memory and its streams are whole.
TEST(ConcurrentWrites, DamageNothingButTheElements) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the elements are written by several threads at once, on purpose";
#endif
  constexpr int threads = 8, rounds = 50, count = 20'000;
  const auto shared = zeros<int>({count});
  std::vector<std::thread> writers;
  for (int k = 1; k <= threads; ++k) {
    writers.emplace_back([&shared, k] {
      const Stream s = stream();
      const StreamGuard guard(s);
      const auto own = ones<int>({count});
      for (int i = 0; i < rounds; ++i) {
        shared(range(k, _)) = k;
        shared.assign(own * k);
        shared(range(_, _, -1)).copy_to_device(std::vector<int>(count, k));
      }
      s.synchronize();
    });
  }
  for (std::thread& writer : writers) writer.join();
  synchronize();
  std::vector<int> values(count);
  shared.copy_to_host(values);
  EXPECT_TRUE(
      std::all_of(values.begin(), values.end(), [](int v) { return v >= 0 && v <= threads; }));
  EXPECT_EQ(shared.shape(), Shape{count});
  shared.fill(1);
  EXPECT_EQ(sum(shared).item(), count);
}

}  // namespace
}  // namespace quarry
