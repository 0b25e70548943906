// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/occupancy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "fake_driver/calculator.hpp"

/// The formula beside CUDA's calculator, for GPUs that need not be here.
namespace quarry {
namespace {

struct Gpu {
  const char* name;
  fake::OccupancyOf numbers;
};
constexpr Gpu gpus_of_today[] = {
    {"T4", {7, 5, 1024, 16, 65536, 65536}},         {"A100", {8, 0, 2048, 32, 167936, 166912}},
    {"A10", {8, 6, 1536, 16, 102400, 101376}},      {"L4", {8, 9, 1536, 24, 102400, 101376}},
    {"H100", {9, 0, 2048, 32, 233472, 232448}},     {"B200", {10, 0, 2048, 32, 233472, 232448}},
    {"RTX 5090", {12, 0, 1536, 24, 102400, 101376}}};

DeviceData data_of(const fake::OccupancyOf& gpu) {
  return DeviceData(std::map<std::string, std::int64_t>{
      {"COMPUTE_CAPABILITY_MAJOR", gpu.major},
      {"MAX_THREADS_PER_BLOCK", 1024},
      {"WARP_SIZE", 32},
      {"MAX_THREADS_PER_MULTIPROCESSOR", gpu.threads_per_mp},
      {"MAX_BLOCKS_PER_MULTIPROCESSOR", gpu.blocks_per_mp},
      {"MAX_REGISTERS_PER_MULTIPROCESSOR", 65536},
      {"MAX_REGISTERS_PER_BLOCK", 65536},
      {"MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", gpu.shared_per_mp},
      {"MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", gpu.shared_per_block}});
}

/// A block of a kernel.
struct Block {
  int threads, registers;
  std::size_t fixed, dynamic;
};

Block drawn(std::mt19937_64& random, std::size_t most_shared) {
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  const auto shared = [&] {
    const std::size_t most = below(2) ? most_shared : std::size_t{8} << 10;
    return below(3) == 0 ? std::size_t{0} : random() % (most + 1);
  };
  const int threads = below(2) ? 32 * (1 + below(32)) : 1 + below(1024);
  return {threads, below(256), std::min<std::size_t>(shared(), 48 << 10), shared()};
}

/// 0 blocks where the block cannot be launched.
fake::CalculatedOccupancy occupancy_of(const DeviceData& gpu, const Block& block) {
  try {
    const OccupancyRecord record(gpu, block.threads, block.fixed + block.dynamic, block.registers);
    return {record.tb_per_mp, to_string(record.limited_by)};
  } catch (const LogicError&) {
    return {};
  }
}

TEST(Occupancy, IsThatOfCudasOwnCalculator) {
  for (const Gpu& gpu : gpus_of_today) {
    const DeviceData data = data_of(gpu.numbers);
    std::mt19937_64 random(7);
    int launchable = 0;
    for (int i = 0; i < 20000; ++i) {
      const Block block = drawn(random, data.shared_memory_per_block);
      const auto expected = fake::calculated_occupancy(gpu.numbers, block.threads, block.registers,
                                                       block.fixed, block.dynamic);
      if (!expected) GTEST_SKIP() << "the toolkit has no calculator for this GPU";
      const auto got = occupancy_of(data, block);
      ASSERT_EQ(got.blocks, expected->blocks)
          << gpu.name << ": " << block.threads << " threads, " << block.registers << " registers, "
          << block.fixed << " + " << block.dynamic << " bytes";
      if (got.blocks == 0) continue;
      ++launchable;
      ASSERT_NE(expected->limited_by.find(got.limited_by), std::string::npos)
          << gpu.name << ": " << got.limited_by << " of " << expected->limited_by;
    }
    EXPECT_GT(launchable, 5000) << gpu.name;
  }
}

}  // namespace
}  // namespace quarry
