// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/backend.hpp"

namespace quarry::backend {
namespace {

TEST(CpuDevice, DescribesTheMachine) {
  EXPECT_TRUE(cpu().info().is_cpu);
  EXPECT_FALSE(cpu().info().name.empty());
  EXPECT_GE(cpu().attributes().at("MULTIPROCESSOR_COUNT"), 1);
  EXPECT_EQ(cpu().attributes().at("WARP_SIZE"), 1);
  const MemoryInfo memory = cpu().memory_info();
  EXPECT_GT(memory.free, 0U);
  EXPECT_LE(memory.free, memory.total);
  EXPECT_TRUE(cpu().can_access_peer(cpu()));
}

TEST(CpuDevice, AllocatesAlignedMemory) {
  for (const std::size_t bytes : {0U, 1U, 255U, 256U, 257U, 100000U, 4U << 20, (8U << 20) + 1}) {
    void* const memory = cpu().allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0U);
    std::memset(memory, 1, bytes);
    cpu().free(memory, bytes);
  }
}

TEST(CpuDevice, ReturnsNullWhenThereIsNoMemory) {
  EXPECT_EQ(cpu().allocate(std::numeric_limits<std::size_t>::max()), nullptr);
  EXPECT_EQ(cpu().allocate(std::size_t{1} << 60), nullptr);
}

struct CpuStreams : testing::TestWithParam<bool> {
  CpuStreams() { stream = GetParam() ? cpu().create_stream({}) : nullptr; }
  ~CpuStreams() override { cpu().destroy_stream(stream); }
  Stream stream;
};
INSTANTIATE_TEST_SUITE_P(DefaultAndCreated, CpuStreams, testing::Bool());

std::vector<int> counting(std::size_t n) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST_P(CpuStreams, CopiesEveryDirection) {
  for (const std::size_t n : {1U, 1000U, 100000U, 3000000U}) {
    for (const bool blocking : {false, true}) {
      const std::vector<int> source = counting(n);
      std::vector<int> a(n), b(n), back(n);
      const std::size_t bytes = n * sizeof(int);
      cpu().copy({Direction::host_to_device, a.data(), source.data(), bytes}, stream, blocking);
      cpu().copy({Direction::device_to_device, b.data(), a.data(), bytes}, stream, blocking);
      cpu().copy({Direction::device_to_host, back.data(), b.data(), bytes}, stream, blocking);
      EXPECT_EQ(back, source);
    }
  }
}

TEST_P(CpuStreams, CopiesRowsAndNothingBetweenThem) {
  for (const Direction direction :
       {Direction::host_to_device, Direction::device_to_host, Direction::device_to_device}) {
    for (const std::size_t rows : {1U, 5U, 70000U}) {
      const std::size_t width = 20, to_pitch = 30, from_pitch = 25;
      const std::vector<int> from = counting(rows * from_pitch);
      std::vector<int> to(rows * to_pitch, -1), expected = to;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < width; ++c)
          expected[r * to_pitch + c] = from[r * from_pitch + c];
      }
      cpu().copy({direction, to.data(), from.data(), width * 4, rows, to_pitch * 4, from_pitch * 4},
                 stream, false);
      cpu().synchronize(stream);
      EXPECT_EQ(to, expected) << rows;
    }
  }
}

TEST_P(CpuStreams, CopiesNothing) {
  int value = 7;
  cpu().copy({Direction::host_to_device, &value, nullptr, 0}, stream, true);
  cpu().copy({Direction::device_to_device, &value, nullptr, 4, 0}, stream, true);
  EXPECT_EQ(value, 7);
}

TEST_P(CpuStreams, FillsWithEveryPatternSize) {
  for (const std::size_t size : {1U, 2U, 4U, 8U, 16U}) {
    std::array<unsigned char, 16> pattern;
    std::iota(pattern.begin(), pattern.end(), static_cast<unsigned char>(10));
    for (const std::int64_t count : {0, 1, 3, 17, 1000, 5000001}) {
      const std::size_t bytes = size * static_cast<std::size_t>(count);
      std::vector<unsigned char> to(bytes + 16, 0), expected = to;
      for (std::size_t i = 0; i < bytes; ++i) expected[i] = pattern[i % size];
      cpu().fill(to.data(), pattern.data(), size, count, stream);
      cpu().synchronize(stream);
      EXPECT_TRUE(to == expected) << size << " bytes " << count << " times";
    }
  }
}

// A small source may be overwritten as soon as the call returns, though the copy has not begun; a
// large one makes the call wait.
TEST(CpuCopy, HostMemoryMayBeReusedOnReturn) {
  const Stream stream = cpu().create_stream({});
  std::atomic<bool> open = false;
  cpu().host_call(
      stream, [](void* s) { static_cast<std::atomic<bool>*>(s)->wait(false); }, &open);
  std::vector<int> source = counting(1000), to(1000);
  cpu().copy({Direction::host_to_device, to.data(), source.data(), 4000}, stream, false);
  std::fill(source.begin(), source.end(), 0);
  EXPECT_FALSE(cpu().is_done(stream));
  open = true;
  open.notify_all();
  cpu().synchronize(stream);
  EXPECT_EQ(to, counting(1000));

  source = counting(1000000);
  to.assign(1000000, 0);
  cpu().copy({Direction::host_to_device, to.data(), source.data(), 4000000}, stream, false);
  std::fill(source.begin(), source.end(), 0);
  cpu().synchronize(stream);
  EXPECT_EQ(to, counting(1000000));
  cpu().destroy_stream(stream);
}

TEST(CpuCopy, BetweenDeviceMemoryIsAsynchronous) {
  const Stream stream = cpu().create_stream({});
  std::atomic<bool> open = false;
  cpu().host_call(
      stream, [](void* s) { static_cast<std::atomic<bool>*>(s)->wait(false); }, &open);
  int from = 5, to = 0;
  cpu().copy({Direction::device_to_device, &to, &from, 4}, stream, false);
  EXPECT_FALSE(cpu().is_done(stream));
  from = 6;
  open = true;
  open.notify_all();
  cpu().synchronize(stream);
  EXPECT_EQ(to, 6);
  cpu().destroy_stream(stream);
}

}  // namespace
}  // namespace quarry::backend
