// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include "array/model.hpp"
#include "array/source_kernels.hpp"
#include "fake_driver/fake_driver.hpp"
#include "message_of.hpp"

/// Launches whose blocks know one another: clusters, and grids that run at once.
namespace quarry {
namespace {

using test::HostLaunch;
using test::message_of;
using test::values;

constexpr const char* kernels = R"(
// The number of the cluster's blocks, and what the next of them has in its shared memory.
extern "C" __global__ void neighbours(int* sizes, int* seen) {
  __shared__ int mine;
#if __CUDA_ARCH__ >= 900
  unsigned size, rank, there;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  mine = blockIdx.x;
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(&mine));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"((rank + 1) % size));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(seen[blockIdx.x]) : "r"(there) : "memory");
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  sizes[blockIdx.x] = size;
#endif
}
// Every block writes its place, waits for all others, and reads the place of the next one.
extern "C" __global__ void all_meet(int* arrived, volatile int* places, int* seen) {
  if (threadIdx.x != 0) return;
  places[blockIdx.x] = blockIdx.x + 1;
  __threadfence();
  atomicAdd(arrived, 1);
  while (atomicAdd(arrived, 0) < gridDim.x) {}
  __threadfence();
  seen[blockIdx.x] = places[(blockIdx.x + 1) % gridDim.x];
}
)";

void neighbours_on_host(const HostLaunch& launch) {
  const unsigned blocks = launch.grid[0], size = launch.cluster[0] * launch.cluster[1];
  const auto sizes = launch.memory<int>(0, blocks), seen = launch.memory<int>(1, blocks);
  for (unsigned b = 0; b < blocks; ++b) {
    sizes[b] = static_cast<int>(size);
    seen[b] = static_cast<int>(b / size * size + (b + 1) % size);
  }
}

void all_meet_on_host(const HostLaunch& launch) {
  const unsigned blocks = launch.grid[0];
  ASSERT_TRUE(launch.cooperative);
  const auto places = launch.memory<int>(1, blocks), seen = launch.memory<int>(2, blocks);
  for (unsigned b = 0; b < blocks; ++b) places[b] = static_cast<int>(b) + 1;
  for (unsigned b = 0; b < blocks; ++b) seen[b] = places[(b + 1) % blocks];
}

class Clusters : public testing::Test {
 protected:
  void SetUp() override {
    if (test::kind() == test::Kind::cpu) GTEST_SKIP() << "kernels from source run on GPUs";
    if (test::kind() == test::Kind::fake) {
      fake::set_host_kernel("neighbours", {{8, 8}, neighbours_on_host});
      fake::set_host_kernel("all_meet", {{8, 8, 8}, all_meet_on_host});
    }
    if (Device().compute_capability().first < 9) GTEST_SKIP() << "the GPU has no clusters";
  }
  static Function kernel(const char* name) { return compile(kernels).function(name); }
};

/// Of every block.
std::vector<int> expected_neighbours(int blocks, int size) {
  std::vector<int> list;
  for (int b = 0; b < blocks; ++b) list.push_back(b / size * size + (b + 1) % size);
  return list;
}

TEST_F(Clusters, HaveTheExtentOfTheConfiguration) {
  const Function neighbours = kernel("neighbours");
  for (const int size : {1, 2, 4, 8}) {
    const auto sizes = zeros<int>({16}), seen = zeros<int>({16});
    neighbours.launch({.grid = 16, .block = 32, .cluster = size}, sizes, seen);
    EXPECT_EQ(values(sizes), std::vector<int>(16, size));
    EXPECT_EQ(values(seen), expected_neighbours(16, size)) << size;
  }
}

TEST_F(Clusters, OfManyBlocksAreAllowedByTheLaunch) {
  const Function neighbours = kernel("neighbours");
  const int most = neighbours.max_cluster_size({.block = 32});
  ASSERT_GE(most, 8);
  if (most < 16) GTEST_SKIP() << "the GPU has clusters of " << most << " blocks at most";
  const auto sizes = zeros<int>({32}), seen = zeros<int>({32});
  kernel("neighbours").launch({.grid = 32, .block = 32, .cluster = 16}, sizes, seen);
  EXPECT_EQ(values(sizes), std::vector<int>(32, 16));
  EXPECT_EQ(values(seen), expected_neighbours(32, 16));
}

TEST_F(Clusters, OfOneGridFitTheGpu) {
  const Function neighbours = kernel("neighbours");
  const int of_two = neighbours.max_active_clusters({.block = 128, .cluster = 2});
  const int of_four = neighbours.max_active_clusters({.block = 128, .cluster = {2, 2}});
  const int large = neighbours.max_active_clusters({.block = 1024, .cluster = 2});
  EXPECT_GT(of_four, 0);
  EXPECT_GT(of_two, of_four);
  EXPECT_GT(of_two, large);
}

TEST_F(Clusters, OfWrongExtentsAreErrors) {
  const Function neighbours = kernel("neighbours");
  const auto a = zeros<int>({16});
  const auto message = [&](const Dim3& grid, const Dim3& cluster) {
    return message_of<LogicError>(
        [&] { neighbours.launch({.grid = grid, .block = 32, .cluster = cluster}, a, a); });
  };
  EXPECT_EQ(message(15, 2),
            "the kernel neighbours: a grid of (15, 1, 1) is no whole number of clusters of (2, 1, "
            "1)");
  EXPECT_EQ(message({16, 3}, {2, 2}),
            "the kernel neighbours: a grid of (16, 3, 1) is no whole number of clusters of (2, 2, "
            "1)");
  EXPECT_EQ(message(16, 0),
            "the kernel neighbours: a cluster of (0, 1, 1) is not within (1, 1, 1) and (16, 16, "
            "16)");
  const std::string refused = message_of<LaunchError>([&] {
    neighbours.launch({.grid = {8, 8}, .block = 32, .cluster = {8, 8}}, a, a);
  });
  EXPECT_TRUE(
      refused.starts_with("the kernel neighbours with a grid of (8, 8, 1), blocks of (32, 1, 1), "
                          "clusters of (8, 8, 1) and 0 bytes of dynamic shared memory: "))
      << refused;
  EXPECT_THROW(neighbours.max_active_clusters({.block = 32, .cluster = -1}), LogicError);
  neighbours.launch({.grid = 16, .block = 32, .cluster = 2}, a, a);
  synchronize();
}

TEST_F(Clusters, AreNotNeededForAllBlocksToMeet) {
  const Function all_meet = kernel("all_meet");
  const int most = all_meet.max_cooperative_grid_blocks(64);
  ASSERT_GT(most, 1);
  const auto arrived = zeros<int>({1}), places = zeros<int>({most}), seen = zeros<int>({most});
  all_meet.launch({.grid = most, .block = 64, .cooperative = true}, arrived, places, seen);
  std::vector<int> next;
  for (int b = 0; b < most; ++b) next.push_back((b + 1) % most + 1);
  EXPECT_EQ(values(seen), next);
  const std::string refused = message_of<LaunchError>([&] {
    all_meet.launch({.grid = most + 1, .block = 64, .cooperative = true}, arrived, places, seen);
  });
  EXPECT_NE(refused.find("COOPERATIVE_LAUNCH_TOO_LARGE"), refused.npos) << refused;
}

TEST_F(Clusters, CanBeOfAGridThatRunsAtOnce) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "looks at the attributes of the launch";
  bool was_cooperative = false;
  unsigned blocks = 0;
  fake::set_host_kernel("neighbours", {{8, 8}, [&](const HostLaunch& launch) {
                                         was_cooperative = launch.cooperative;
                                         blocks = launch.cluster[0];
                                       }});
  const auto a = zeros<int>({16});
  kernel("neighbours").launch({.grid = 16, .block = 32, .cooperative = true, .cluster = 4}, a, a);
  synchronize();
  EXPECT_TRUE(was_cooperative);
  EXPECT_EQ(blocks, 4u);
}

}  // namespace
}  // namespace quarry
