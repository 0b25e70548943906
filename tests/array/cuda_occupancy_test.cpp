// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/occupancy.hpp>

#include <random>
#include <set>
#include <string>
#include <vector>

#include <quarry/quarry.hpp>

#include "fake_driver/test_device.hpp"

/// The formula beside the driver.
namespace quarry {
namespace {

/// Keeps `live` values in registers, has `shared` bytes of static shared memory.
std::string source_of(int live, int shared) {
  std::string text = "extern \"C\" __global__ void k(float* a, int n) {\n";
  if (shared > 0) {
    text += "  __shared__ char block[" + std::to_string(shared) + "];\n" +
            "  block[threadIdx.x % " + std::to_string(shared) + "] = n;\n  __syncthreads();\n" +
            "  a[blockIdx.x] = block[(threadIdx.x + n) % " + std::to_string(shared) + "];\n";
  }
  text += "  float x[" + std::to_string(live) + "];\n  #pragma unroll\n  for (int i = 0; i < " +
          std::to_string(live) + "; ++i) x[i] = a[i * n];\n  for (int j = 0; j < n; ++j) {\n" +
          "    #pragma unroll\n    for (int i = 0; i < " + std::to_string(live) +
          "; ++i) x[i] = x[i] * x[(i + 7) % " + std::to_string(live) +
          "] + j;\n  }\n  #pragma unroll\n  for (int i = 0; i < " + std::to_string(live) +
          "; ++i) a[i * n + threadIdx.x] = x[i];\n}\n";
  return text;
}

std::vector<Function> kernels() {
  std::vector<Function> all;
  for (const int live : {1, 8, 20, 40, 70, 110, 160, 230}) {
    for (const int shared : {0, 100, 5000, 40000}) {
      all.push_back(compile(source_of(live, shared)).function("k"));
    }
  }
  return all;
}

/// 0 where the block cannot be launched.
int expected_blocks(const DeviceData& gpu, int threads, std::size_t shared, int registers) {
  try {
    return OccupancyRecord(gpu, threads, shared, registers).tb_per_mp;
  } catch (const LogicError&) {
    return 0;
  }
}

TEST(Occupancy, IsTheDrivers) {
  if (test::kind() != test::Kind::cuda) GTEST_SKIP() << "compares with a GPU's driver";
  const DeviceData gpu;
  const std::vector<Function> all = kernels();
  std::mt19937_64 random(3);
  int launchable = 0;
  std::set<int> registers;
  for (int i = 0; i < 200; ++i) {
    const Function& f = all[random() % all.size()];
    const int threads = static_cast<int>(1 + random() % 1024);
    const auto fixed = static_cast<std::size_t>(f.shared_size_bytes());
    const std::size_t dynamic = random() % 2 ? random() % (gpu.shared_memory_per_block - fixed) : 0;
    f.set_attribute(FunctionAttribute::max_dynamic_shared_size_bytes, static_cast<int>(dynamic));
    const int expected = expected_blocks(gpu, threads, fixed + dynamic, f.num_regs());
    EXPECT_EQ(f.blocks_per_multiprocessor(threads, dynamic), expected)
        << threads << " threads, " << f.num_regs() << " registers, " << fixed << " + " << dynamic;
    launchable += expected > 0 ? 1 : 0;
    registers.insert(f.num_regs());
  }
  EXPECT_GT(launchable, 100);
  EXPECT_GT(registers.size(), 5u);
}

}  // namespace
}  // namespace quarry
