// SPDX-License-Identifier: BSD-3-Clause
#include "memory/ascending_numbers.hpp"

#include <quarry/memory/graph.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "fake_driver/shim.hpp"
#include "memory/idle_fake.hpp"

namespace quarry {
namespace {

using backend::cuda::DriverFunction;
namespace shim = backend::cuda::shim;
using memory::AscendingNumbers;
using memory::new_ascending_numbers;

class FakeAscendingNumbers : public OverIdleFake {
 protected:
  static DeviceNDArray<std::int32_t> array_of(const AscendingNumbers& numbers, std::int64_t size,
                                              const Stream& s) {
    const DeviceNDArray<std::int32_t> all(Layout{{size}, {4}}, numbers.buffer->data(),
                                          numbers.buffer);
    return all.bind(s);
  }
  static std::int32_t largest(const AscendingNumbers& numbers, std::int64_t size, const Stream& s) {
    return std::ranges::max(array_of(numbers, size, s).copy_to_host<std::vector<std::int32_t>>());
  }
  static constexpr std::int64_t most = std::int64_t{1} << 19,
                                all = std::numeric_limits<std::int32_t>::max();
};

TEST_F(FakeAscendingNumbers, AreLessThanTheFirstOneOfACall) {
  const Stream streams[] = {stream({.non_blocking = true}), stream({.non_blocking = true})};
  std::mt19937 random(17);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  std::vector<std::optional<AscendingNumbers>> alive(4);
  for (int round = 0; round < 300; ++round) {
    const Stream& s = streams[random() % 2];
    const std::int64_t size = 1 + below(below(2) ? 100 : 70000);
    // some calls are the last ones before the numbers are used up
    const std::int64_t count = 1 + below(below(8) ? 1000 : 1500000000);
    auto made = new_ascending_numbers(s, size, count);
    ASSERT_TRUE(made);
    ASSERT_LT(largest(*made, size, s), made->first) << "round " << round;
    ASSERT_LE(made->first + count, all);
    array_of(*made, size, s).fill(static_cast<std::int32_t>(made->first + count - 1));
    alive[random() % alive.size()] = std::move(made);
  }
}

TEST_F(FakeAscendingNumbers, AreNotThereForManyOrWithoutMemoryOrInACapture) {
  const Stream s = stream({.non_blocking = true});
  EXPECT_FALSE(new_ascending_numbers(s, most + 1, 1));
  EXPECT_FALSE(new_ascending_numbers(s, 1, all));
  const auto before = shim::live();
  shim::inject(
      {.code = CUDA_ERROR_OUT_OF_MEMORY, .function = DriverFunction::MemAlloc, .persistent = true});
  EXPECT_FALSE(new_ascending_numbers(s, most, 1));
  shim::clear_faults();
  EXPECT_EQ(shim::live(), before);
  EXPECT_TRUE(new_ascending_numbers(s, most, 1));
  const StreamGuard guard(s);
  const auto x = zeros<float>({1});
  const Graph graph = capture([&] {
    EXPECT_FALSE(new_ascending_numbers(detail::stream_for(x), 1, 1));
    x += 1.f;
  });
}

/// What is asked to free something, while memory is sought, may want numbers itself.
TEST_F(FakeAscendingNumbers, AreNotWaitedForByWhoFreesMemoryForThem) {
  const Stream s = stream({.non_blocking = true});
  int calls = 0;
  const auto callback = Pool::of(Device()).on_pressure([&](std::size_t, int) {
    ++calls;
    EXPECT_FALSE(new_ascending_numbers(s, 10, 1));
    return false;
  });
  shim::inject(
      {.code = CUDA_ERROR_OUT_OF_MEMORY, .function = DriverFunction::MemAlloc, .persistent = true});
  EXPECT_FALSE(new_ascending_numbers(s, most, 1));
  shim::clear_faults();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace quarry
