// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/host_memory.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

/// Arrays whose sizes and offsets do not fit in 31 or 32 bits, where the machine has the memory.
namespace quarry {
namespace {

constexpr std::size_t gibibyte = std::size_t{1} << 30;

/// On the CPU device only where nobody else will miss it.
bool has_memory(std::size_t on_device, std::size_t on_host) {
  if (Device().is_cpu()) return Device().memory_info().free >= 4 * (on_device + on_host);
  return Device().memory_info().free >= on_device && Device::cpu().memory_info().free >= on_host;
}

class Large : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    if (!has_memory(12 * gibibyte, 4 * gibibyte)) GTEST_SKIP() << "wants 12 GiB and 4 on the host";
  }
  void TearDown() override { trim_pool(Device()); }
};
INSTANTIATE_TEST_SUITE_P(Elements, Large,
                         testing::Values((std::int64_t{1} << 31) - 1, std::int64_t{1} << 31,
                                         (std::int64_t{1} << 31) + 1, (std::int64_t{1} << 32) + 1));

TEST_P(Large, FillsExpressionsAndReductionsSeeEveryElement) {
  const std::int64_t n = GetParam();
  auto a = ones<std::int8_t>({n});
  EXPECT_EQ(sum(a).item(), n);
  a(range(n - 1, _)) = 5;
  EXPECT_EQ(sum(a).item(), n + 4);
  EXPECT_EQ(max(a).item(), 5);
  EXPECT_EQ(argmax(a).item(), n - 1);
  a += std::int8_t{1};
  EXPECT_EQ(sum(a).item(), 2 * n + 4);
  const DeviceNDArray<std::int8_t> twice = a + a;
  EXPECT_EQ(twice(n - 1).item(), 12);
  EXPECT_EQ(twice(n / 2).item(), 4);
}

TEST_P(Large, ViewsReachTheFarEnd) {
  const std::int64_t n = GetParam();
  const auto a = zeros<std::int8_t>({n});
  a(n - 1).fill(3);
  const auto reversed = a(range(_, _, -1));
  EXPECT_EQ(argmax(reversed).item(), 0);
  const DeviceNDArray<std::int8_t> copy = reversed + std::int8_t{1};
  EXPECT_EQ(copy(0).item(), 4);
  EXPECT_EQ(sum(copy).item(), n + 3);
  const auto steps = a(range(n - 1, _, -3));
  EXPECT_EQ(sum(steps).item(), 3);
  steps.fill(1);
  EXPECT_EQ(sum(a).item(), (n + 2) / 3);
  const auto plane = a(range(0, n / 7 * 7)).reshape({7, -1});
  EXPECT_EQ(sum(sum(plane, 0)).item(), sum(a(range(0, n / 7 * 7))).item());
}

/// One element, seen as often: a count of more than 32 bits needs no memory.
TEST(LargeBroadcast, CountsEveryElement) {
  constexpr std::int64_t n = (std::int64_t{1} << 32) + 1;
  EXPECT_EQ(sum(ones<std::int8_t>({1}).broadcast_to({n})).item(), n);
}

/// The same; the counters of a block have 32 bits.
TEST(LargeBroadcast, CountsEveryValue) {
  const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
  if (!kind || std::string_view(kind) != "cuda") GTEST_SKIP() << "takes long without a GPU";
  constexpr std::int64_t n = (std::int64_t{1} << 33) + 1;
  const auto counts = bincount(ones<std::uint8_t>({1}).broadcast_to({n}));
  EXPECT_EQ(counts(0).item(), 0);
  EXPECT_EQ(counts(1).item(), n);
}

/// In one call, through all of it.
class LargeTransfer : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 4 * gibibyte + 7;
  static constexpr std::size_t places[] = {
      0, 1, (std::size_t{1} << 31) - 1, 2 * gibibyte, 4 * gibibyte - 1, 4 * gibibyte, bytes - 1};
  void SetUp() override {
    if (!has_memory(5 * gibibyte, 10 * gibibyte)) GTEST_SKIP() << "wants 5 GiB and 10 on the host";
  }
  void TearDown() override {
    trim_pool(Device());
    detail::trim_host_memory(Device());
  }

  template <class Host>
  static void there_and_back() {
    Host host(bytes);
    std::uint8_t value = 0;
    for (const std::size_t place : places) host[place] = ++value;
    const auto array = to_device(host);
    value = 0;
    for (const std::size_t place : places) {
      EXPECT_EQ(array(place).item(), ++value) << place;
    }
    EXPECT_EQ(sum(array).item(), 28u) << "the others are zero";
    array.assign(array + std::uint8_t{1});
    array.copy_to_host(host);
    value = 1;
    for (const std::size_t place : places) EXPECT_EQ(host[place], ++value) << place;
    std::size_t others = 0;
    for (const std::uint8_t each : host) others += each == 1;
    EXPECT_EQ(others, bytes - std::size(places));
  }
};

TEST_F(LargeTransfer, OfPageableMemory) { there_and_back<std::vector<std::uint8_t>>(); }
TEST_F(LargeTransfer, OfPageLockedMemory) {
  there_and_back<std::vector<std::uint8_t, PinnedAllocator<std::uint8_t>>>();
}

/// Few elements for each of many results: one block of work has no room for all of a row's.
TEST(LargeReduce, LongRowsOfResults) {
  for (const int columns : {1'000, 5'000, 100'003}) {
    const auto row = arange<int>(0, columns);
    const DeviceNDArray<int> a = zeros<int>({3, columns}) + row, thrice = 3 * row;
    EXPECT_TRUE(array_equal(sum(a, 0), thrice)) << columns;
    EXPECT_TRUE(array_equal(sum(a.transpose().copy(), 1), thrice)) << columns;
  }
}

}  // namespace
}  // namespace quarry
