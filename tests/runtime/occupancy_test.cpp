// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/occupancy.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace quarry {
namespace {

using Attributes = std::map<std::string, std::int64_t>;

Attributes attributes_of_h100() {
  return {{"COMPUTE_CAPABILITY_MAJOR", 9},
          {"COMPUTE_CAPABILITY_MINOR", 0},
          {"MAX_THREADS_PER_BLOCK", 1024},
          {"WARP_SIZE", 32},
          {"MAX_THREADS_PER_MULTIPROCESSOR", 2048},
          {"MAX_BLOCKS_PER_MULTIPROCESSOR", 32},
          {"MAX_REGISTERS_PER_MULTIPROCESSOR", 65536},
          {"MAX_REGISTERS_PER_BLOCK", 65536},
          {"MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", 233472},
          {"MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", 232448},
          {"RESERVED_SHARED_MEMORY_PER_BLOCK", 1024}};
}

/// A block of a kernel.
struct Block {
  int threads, registers;
  std::size_t shared;
};

TEST(Occupancy, KnowsWhatLimits) {
  const DeviceData gpu(attributes_of_h100());
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
  const DeviceData gpu(attributes_of_h100());
  for (const Block& block : {Block{0, 0, 0}, Block{1025, 0, 0}, Block{32, 256, 0}, Block{32, -1, 0},
                             Block{1024, 65, 0}, Block{32, 0, 232449}}) {
    EXPECT_THROW(OccupancyRecord(gpu, block.threads, block.shared, block.registers), LogicError)
        << block.threads << " " << block.registers << " " << block.shared;
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
  for (const auto& [name, value] : attributes_of_h100()) {
    const bool is_needed = name != "COMPUTE_CAPABILITY_MINOR" && name[2] != 'S';  // RESERVED_...
    Attributes others = attributes_of_h100();
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
