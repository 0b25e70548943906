// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/occupancy.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#define QUARRY_HAS_ORACLE 1
#endif

namespace quarry {
namespace {

using Attributes = std::map<std::string, std::int64_t>;

/// The numbers of GPUs in which they differ.
struct Gpu {
  const char* name;
  int major, minor, threads_per_mp, blocks_per_mp, shared_per_mp, shared_per_block;
};
constexpr Gpu gpus_of_today[] = {
    {"T4", 7, 5, 1024, 16, 65536, 65536},         {"A100", 8, 0, 2048, 32, 167936, 166912},
    {"A10", 8, 6, 1536, 16, 102400, 101376},      {"L4", 8, 9, 1536, 24, 102400, 101376},
    {"H100", 9, 0, 2048, 32, 233472, 232448},     {"B200", 10, 0, 2048, 32, 233472, 232448},
    {"RTX 5090", 12, 0, 1536, 24, 102400, 101376}};

Attributes attributes_of(const Gpu& gpu) {
  return {{"COMPUTE_CAPABILITY_MAJOR", gpu.major},
          {"COMPUTE_CAPABILITY_MINOR", gpu.minor},
          {"MAX_THREADS_PER_BLOCK", 1024},
          {"WARP_SIZE", 32},
          {"MAX_THREADS_PER_MULTIPROCESSOR", gpu.threads_per_mp},
          {"MAX_BLOCKS_PER_MULTIPROCESSOR", gpu.blocks_per_mp},
          {"MAX_REGISTERS_PER_MULTIPROCESSOR", 65536},
          {"MAX_REGISTERS_PER_BLOCK", 65536},
          {"MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", gpu.shared_per_mp},
          {"MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", gpu.shared_per_block},
          {"RESERVED_SHARED_MEMORY_PER_BLOCK", gpu.major >= 8 ? 1024 : 0}};
}

const Gpu& h100 = gpus_of_today[4];
DeviceData data_of(const Gpu& gpu) { return DeviceData(attributes_of(gpu)); }

/// A block of a kernel.
struct Block {
  int threads, registers;
  std::size_t fixed, dynamic;
};

Block drawn(std::mt19937_64& random, std::size_t most_shared) {
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  const auto shared = [&] {
    const std::size_t most = below(2) ? most_shared : std::size_t{8} << 10;
    return random() % 3 == 0 ? std::size_t{0} : random() % (most + 1);
  };
  const int threads = below(2) ? 32 * (1 + below(32)) : 1 + below(1024);
  return {threads, below(257), std::min<std::size_t>(shared(), 48 << 10), shared()};
}

/// 0 where the block cannot be launched.
int blocks_of(const DeviceData& gpu, const Block& block) {
  try {
    return OccupancyRecord(gpu, block.threads, block.fixed + block.dynamic, block.registers)
        .tb_per_mp;
  } catch (const LogicError&) {
    return 0;
  }
}

#ifdef QUARRY_HAS_ORACLE

cudaOccResult oracle(const Gpu& gpu, const Block& block) {
  cudaOccDeviceProp device;
  device.computeMajor = gpu.major, device.computeMinor = gpu.minor;
  device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = gpu.threads_per_mp;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32, device.numSms = 100;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(gpu.shared_per_mp);
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(gpu.shared_per_block);
  device.reservedSharedMemPerBlock = gpu.major >= 8 ? 1024 : 0;
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = block.registers;
  kernel.sharedSizeBytes = block.fixed;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = block.dynamic;
  const cudaOccDeviceState state;
  cudaOccResult result = {};
  EXPECT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
                                                    block.threads, block.dynamic),
            CUDA_OCC_SUCCESS);
  return result;
}

unsigned bit_of(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::device:
      return OCC_LIMIT_BLOCKS;
    case OccupancyLimit::warps:
      return OCC_LIMIT_WARPS;
    case OccupancyLimit::regs:
      return OCC_LIMIT_REGISTERS;
    default:
      return OCC_LIMIT_SHARED_MEMORY;
  }
}

TEST(Occupancy, IsThatOfCudasOwnCalculator) {
  for (const Gpu& gpu : gpus_of_today) {
    const DeviceData data = data_of(gpu);
    std::mt19937_64 random(7);
    int launchable = 0;
    for (int i = 0; i < 20000; ++i) {
      Block block = drawn(random, data.shared_memory_per_block);
      if (block.registers == 256) --block.registers;  // no thread has them
      const cudaOccResult expected = oracle(gpu, block);
      ASSERT_EQ(blocks_of(data, block), expected.activeBlocksPerMultiprocessor)
          << gpu.name << ": " << block.threads << " threads, " << block.registers << " registers, "
          << block.fixed << " + " << block.dynamic << " bytes";
      if (expected.activeBlocksPerMultiprocessor == 0) continue;
      ++launchable;
      const OccupancyRecord record(data, block.threads, block.fixed + block.dynamic,
                                   block.registers);
      ASSERT_TRUE(expected.limitingFactors & bit_of(record.limited_by))
          << gpu.name << ": " << to_string(record.limited_by);
    }
    EXPECT_GT(launchable, 5000) << gpu.name;
  }
}

#endif

TEST(Occupancy, KnowsWhatLimits) {
  const DeviceData gpu = data_of(h100);
  const auto limit = [&](int threads, std::size_t shared, int registers) {
    const OccupancyRecord record(gpu, threads, shared, registers);
    return to_string(record.limited_by) + " " + std::to_string(record.tb_per_mp);
  };
  EXPECT_EQ(limit(32, 0, 0), "device 32");
  EXPECT_EQ(limit(256, 0, 0), "warps 8");
  EXPECT_EQ(limit(256, 0, 64), "regs 4");
  EXPECT_EQ(limit(256, 100000, 32), "smem 2");
  EXPECT_EQ(limit(64, 0, 32), "device 32");  // and the warps
  const OccupancyRecord half(gpu, 256, 0, 64);
  EXPECT_EQ(half.warps_per_mp, 32);
  EXPECT_EQ(half.occupancy, 0.5);
}

TEST(Occupancy, RefusesBlocksThatCannotBeLaunched) {
  const DeviceData gpu = data_of(h100);
  for (const Block& block : {Block{0, 0, 0, 0}, Block{1025, 0, 0, 0}, Block{32, 256, 0, 0},
                             Block{32, -1, 0, 0}, Block{1024, 65, 0, 0}, Block{32, 0, 0, 232449}}) {
    EXPECT_THROW(OccupancyRecord(gpu, block.threads, block.dynamic, block.registers), LogicError)
        << block.threads << " " << block.registers << " " << block.dynamic;
  }
  EXPECT_EQ(OccupancyRecord(gpu, 32, 232448).tb_per_mp, 1);
  EXPECT_EQ(OccupancyRecord(gpu, 1024, 0, 64).tb_per_mp, 1);
}

TEST(DeviceData, HasTheNumbersOfTheDevice) {
  const Device device;
  if (device.is_cpu()) {
    EXPECT_THROW(DeviceData(device).max_threads, LogicError);
    return;
  }
  const DeviceData data;
  EXPECT_EQ(data.max_threads, device.attribute("MAX_THREADS_PER_BLOCK"));
  EXPECT_EQ(data.warp_size, 32);
  EXPECT_EQ(data.warps_per_mp, device.attribute("MAX_THREADS_PER_MULTIPROCESSOR") / 32);
  EXPECT_EQ(data.thread_blocks_per_mp, device.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"));
  EXPECT_EQ(data.registers, device.attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"));
  EXPECT_EQ(data.shared_memory,
            std::size_t(device.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR")));
  EXPECT_EQ(data.smem_granularity, 32);
  EXPECT_GT(data.smem_alloc_granularity, 0u);
}

TEST(DeviceData, OfAttributesNeedsThemAll) {
  for (const auto& [name, value] : attributes_of(h100)) {
    const bool is_needed = name != "COMPUTE_CAPABILITY_MINOR" && name[2] != 'S';  // RESERVED_...
    Attributes others = attributes_of(h100);
    others.erase(name);
    if (is_needed) {
      EXPECT_THROW(DeviceData{others}, LogicError) << name;
    } else {
      EXPECT_EQ(DeviceData(others).reserved_shared_memory, 1024u);
    }
  }
}

TEST(DeviceData, AlignsAsPyCuda) {
  EXPECT_EQ(DeviceData::align_bytes(), 64);
  EXPECT_EQ(DeviceData::align_bytes(8), 128);
  EXPECT_EQ(DeviceData::align_bytes(16), 128);
  EXPECT_THROW(DeviceData::align_bytes(2), LogicError);
  EXPECT_EQ(DeviceData::align(100), 128u);
  EXPECT_EQ(DeviceData::align(1, 8), 128u);
  EXPECT_EQ(DeviceData::align(128, 8), 128u);
  EXPECT_EQ(DeviceData::align_words(4), 16);
  EXPECT_EQ(DeviceData::align_words(16), 8);
  EXPECT_EQ(DeviceData::align_dtype(5, 4), 16u);
  EXPECT_EQ(DeviceData::align_dtype(17, 8), 32u);
  EXPECT_THROW(DeviceData::align_dtype(5, 12), LogicError);
}

TEST(DeviceData, TexturesHaveOneTwoOrFourChannels) {
  const int expected[] = {1, 2, 4, 4};
  for (int size = 1; size <= 4; ++size) {
    EXPECT_EQ(DeviceData::make_valid_tex_channel_count(size), expected[size - 1]);
  }
  EXPECT_THROW(DeviceData::make_valid_tex_channel_count(5), LogicError);
}

}  // namespace
}  // namespace quarry
