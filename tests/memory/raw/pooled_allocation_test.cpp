// SPDX-License-Identifier: BSD-3-Clause
// What the pools of blocks hand out: its life, its order between streams and threads, page-locked
// memory.
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memory_pool.hpp>
#include <quarry/memory/memset.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <deque>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "gate.hpp"

namespace quarry {
namespace {

static_assert(!std::is_copy_constructible_v<PooledDeviceAllocation>);
static_assert(std::is_nothrow_move_constructible_v<PooledDeviceAllocation>);

// --- blocks

TEST(PooledAllocation, IsFreedOnce) {
  DeviceMemoryPool pool;
  auto block = pool.allocate(100);
  EXPECT_EQ(block.size(), 100u);
  EXPECT_EQ(block.device(), Device());
  EXPECT_EQ(static_cast<std::uintptr_t>(block) % 256, 0u);
  block.free();
  EXPECT_THROW(block.free(), LogicError);
  EXPECT_THROW(block.device_pointer(), LogicError);
  EXPECT_EQ(pool.held_blocks(), 1u);
}

TEST(PooledAllocation, MovesAndLeavesNothingBehind) {
  DeviceMemoryPool pool;
  auto first = pool.allocate(100);
  auto second = std::move(first);
  EXPECT_THROW(first.free(), LogicError);
  EXPECT_EQ(first.size(), 0u);
  EXPECT_EQ(second.size(), 100u);
  second = pool.allocate(2000);
  EXPECT_EQ(pool.active_blocks(), 1u);
  EXPECT_EQ(pool.held_blocks(), 1u);
}

TEST(PooledAllocation, IsMemoryToWorkWith) {
  DeviceMemoryPool pool;
  const auto block = pool.allocate(40);
  std::vector<int> host(10), back(10);
  std::iota(host.begin(), host.end(), 0);
  memcpy_htod(block, host);
  memcpy_dtoh(std::span(back).first(9), block + 4);
  EXPECT_EQ(back, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 0}));
  EXPECT_THROW(memcpy_dtoh(back, block + 4), LogicError);
}

TEST(DeviceMemoryPool, ServesArrays) {
  DeviceMemoryPool pool;
  {
    const ResourceGuard guard(pool);
    const auto a = full<int>({1000}, 3);
    EXPECT_EQ(pool.active_blocks(), 1u);
    EXPECT_EQ(pool.active_bytes(), 4000u);
    EXPECT_EQ(sum(a + 1).item(), 4000);
  }
  EXPECT_EQ(pool.active_blocks(), 0u);
  EXPECT_GE(pool.held_blocks(), 1u);
  pool.free_held();
  EXPECT_EQ(pool.managed_bytes(), 0u);
}

TEST(DeviceMemoryPool, RefusesMemoryThatKernelsCannotUse) {
  EXPECT_THROW(DeviceMemoryPool{pinned_resource()}, LogicError);
  EXPECT_NO_THROW(DeviceMemoryPool{managed_resource()});
}

TEST(DeviceMemoryPool, LivesWithAllocationsOfMostOfTheMemory) {
  const std::size_t free = mem_get_info().free;
  const int e0 = static_cast<int>(std::bit_width(free)) - 1;
  DeviceMemoryPool pool;
  std::deque<PooledDeviceAllocation> alive;
  for (const int e : {e0 - 6, e0 - 5}) {
    for (int i = 0; i < 100; ++i) {
      alive.push_back(pool.allocate(std::size_t{1} << e));
      if (alive.size() > 10) alive.pop_front();
    }
  }
  pool.stop_holding();
  alive.clear();
  EXPECT_EQ(pool.managed_bytes(), 0u);
}

TEST(DeviceMemoryPool, TakesWhatThePoolOfArraysCaches) {
  if (Device().is_cpu()) GTEST_SKIP() << "the CPU device takes what the system promises";
  const std::size_t most = mem_get_info().free / 4 * 3;
  Buffer::allocate(most, default_stream());
  DeviceMemoryPool pool;
  EXPECT_NO_THROW(pool.allocate(most));
}

// --- streams and threads

TEST(DeviceMemoryPool, AFreedBlockIsUsedAtOnceInItsStream) {
  DeviceMemoryPool pool;
  const Stream s = stream();
  auto block = pool.allocate(4000, s);
  const auto* const address = block.device_pointer();
  memset_d8_async(block, 1, 4000, s);
  block.free();
  block = pool.allocate(4000, s);
  EXPECT_EQ(block.device_pointer(), address);
}

TEST(DeviceMemoryPool, AFreedBlockIsUsedInAnotherStreamBehindItsWork) {
  DeviceMemoryPool pool;
  const Stream a = stream(), b = stream();
  const auto seen = mem_alloc(4000);
  auto block = pool.allocate(4000, a);
  const auto* const address = block.device_pointer();
  test::Gate gate(a);
  memset_d8_async(block, 1, 4000, a);
  memcpy_dtod_async(seen, block, 4000, a);
  block.free();
  block = pool.allocate(4000, b);
  EXPECT_EQ(block.device_pointer(), address);
  memset_d8_async(block, 2, 4000, b);
  EXPECT_FALSE(b.is_done());
  gate.open();
  a.synchronize();
  std::vector<std::uint8_t> back(4000);
  memcpy_dtoh(back, seen);
  EXPECT_EQ(back, std::vector<std::uint8_t>(4000, 1));
  b.synchronize();
}

TEST(DeviceMemoryPool, ItsOwnStreamsBlockIsTakenFirst) {
  DeviceMemoryPool pool;
  const Stream a = stream(), b = stream();
  auto of_a = pool.allocate(4000, a), of_b = pool.allocate(4000, b);
  const auto* const address = of_a.device_pointer();
  of_a.free();
  of_b.free();
  EXPECT_EQ(pool.allocate(4000, a).device_pointer(), address);
}

TEST(DeviceMemoryPool, AnotherStreamThatUsedABlockIsWaitedFor) {
  DeviceMemoryPool pool;
  const Stream home = stream(), other = stream();
  const auto seen = mem_alloc(4000);
  auto block = pool.allocate(4000, home);
  memset_d8_async(block, 1, 4000, home);
  home.synchronize();
  test::Gate gate(other);
  memcpy_dtod_async(seen, block, 4000, other);
  block.free();
  block = pool.allocate(4000, home);
  memset_d8_async(block, 2, 4000, home);
  EXPECT_FALSE(home.is_done());
  gate.open();
  other.synchronize();
  std::vector<std::uint8_t> back(4000);
  memcpy_dtoh(back, seen);
  EXPECT_EQ(back, std::vector<std::uint8_t>(4000, 1));
  home.synchronize();
}

TEST(DeviceMemoryPool, ManyThreadsAllocateAndFree) {
  DeviceMemoryPool pool;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([t, pool]() mutable {
      std::mt19937 random(t);
      std::vector<PooledDeviceAllocation> mine;
      for (int i = 0; i < 300; ++i) {
        if (mine.empty() || random() % 2) {
          mine.push_back(pool.allocate(random() % 5000));
        } else {
          mine.pop_back();
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool.active_blocks(), 0u);
  EXPECT_EQ(pool.active_bytes(), 0u);
  EXPECT_EQ(pool.held_blocks(), pool.upstream_allocations());
  EXPECT_EQ(pool.managed_bytes(), pool.peak_managed_bytes());
  pool.free_held();
  EXPECT_EQ(pool.managed_bytes(), 0u);
}

// --- page-locked memory

TEST(PageLockedMemoryPool, HandsOutHostMemory) {
  for (const bool mapped : {false, true}) {
    PageLockedMemoryPool pool({.portable = true, .mapped = mapped});
    auto block = pool.allocate(1000);
    std::fill_n(block.data(), 1000, std::byte{7});
    const auto on_device = mem_alloc(1000);
    memcpy_htod(on_device, block);
    std::vector<std::byte> back(1000);
    memcpy_dtoh(back, on_device);
    EXPECT_EQ(back, std::vector<std::byte>(1000, std::byte{7}));
    if (mapped) {
      memcpy_dtod(on_device, DevicePtr(block), 1000);
    } else if (!Device().is_cpu()) {
      EXPECT_THROW(block.device_pointer(), LogicError);
    }
    const auto* const address = block.data();
    synchronize();
    block.free();
    EXPECT_THROW(block.free(), LogicError);
    EXPECT_EQ(pool.held_blocks(), 1u);
    EXPECT_EQ(pool.allocate(1001).data(), address);
  }
}

TEST(PageLockedMemoryPool, MemoryFreedDuringACopyIsNotHandedOut) {
  PageLockedMemoryPool pool;
  const Stream s = stream();
  const auto on_device = mem_alloc(4000);
  {
    test::Gate gate(s);
    const std::byte* first = nullptr;
    {
      const auto block = pool.allocate(4000);
      first = block.data();
      std::fill_n(block.data(), 4000, std::byte{1});
      memcpy_htod_async(on_device, block, s);
    }
    const auto next = pool.allocate(4000);
    if (!s.is_done()) {
      EXPECT_NE(next.data(), first);
    }
    std::fill_n(next.data(), 4000, std::byte{2});
    gate.open();
    s.synchronize();
  }
  std::vector<std::byte> back(4000);
  memcpy_dtoh(back, on_device);
  EXPECT_EQ(back, std::vector<std::byte>(4000, std::byte{1}));
  pool.free_held();
  EXPECT_EQ(pool.managed_bytes(), 0u);
}

TEST(PageLockedMemoryPool, ServesStandardContainers) {
  PageLockedMemoryPool pool;
  std::vector<float, PooledAllocator<float>> v(1000, 2.f, PooledAllocator<float>(pool));
  EXPECT_EQ(pool.active_blocks(), 1u);
  EXPECT_EQ(pool.active_bytes(), 4000u);
  EXPECT_EQ(sum(to_device(v)).item(), 2000.f);
  const auto copy = v;
  EXPECT_EQ(pool.active_blocks(), 2u);
  EXPECT_EQ(copy, v);
}

}  // namespace
}  // namespace quarry
