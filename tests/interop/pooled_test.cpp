// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/allocation.hpp>
#include <quarry/memory/host_allocation.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/pooled.hpp>
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <gtest/gtest.h>

namespace quarry {
namespace {

TEST(Pooled, ArraysAreBlocksOfThePool) {
  PageLockedMemoryPool pool;
  {
    auto a = pool.allocate<float>({3, 4});
    EXPECT_EQ(pool.active_blocks(), 1u);
    EXPECT_EQ(pool.active_bytes(), 48u);
    EXPECT_EQ(a.dimension(), 2u);
    EXPECT_EQ(a.shape(0), 3u);
    EXPECT_EQ(a.size(), 12u);
    const HostPointer base = base_of(a);
    EXPECT_EQ(base.data(), reinterpret_cast<std::byte*>(a.data()));
    EXPECT_EQ(base.size(), 48u);
    const auto block = pool.allocate(48);
    EXPECT_NE(reinterpret_cast<std::byte*>(a.data()), block.data());
  }
  EXPECT_EQ(pool.active_blocks(), 0u);
  EXPECT_EQ(pool.held_blocks(), 2u);
}

TEST(Pooled, ArraysHonourTheOrder) {
  PageLockedMemoryPool pool;
  const auto c = pool.allocate<int>({3, 4}), f = pool.allocate<int>({3, 4}, Order::f);
  EXPECT_EQ(&c(1, 0) - &c(0, 0), 4);
  EXPECT_EQ(&c(0, 1) - &c(0, 0), 1);
  EXPECT_EQ(&f(1, 0) - &f(0, 0), 1);
  EXPECT_EQ(&f(0, 1) - &f(0, 0), 3);
}

TEST(Pooled, ArraysTravel) {
  PageLockedMemoryPool pool;
  for (const Order order : {Order::c, Order::f}) {
    auto a = pool.allocate<float>({3, 4}, order), back = pool.allocate<float>({3, 4}, order);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 4; ++j) a(i, j) = static_cast<float>(10 * i + j);
    }
    const auto d = to_device(a);
    EXPECT_EQ(d(2, 3).item(), 23.f);
    EXPECT_EQ(sum(d(1)).item(), 46.f);
    d.copy_to_host(back);
    EXPECT_EQ(back, a);
    const Stream s = stream();
    const auto memory = mem_alloc(48);
    memcpy_htod_async(memory, a, s);
    memcpy_dtoh_async(back, memory, s);
    s.synchronize();
    EXPECT_EQ(back, a);
  }
}

TEST(Pooled, ArraysAreXtensorContainers) {
  PageLockedMemoryPool pool;
  auto a = pool.allocate<double>({2, 3});
  a.fill(2);
  const xt::xarray<double> twice = a + a;
  EXPECT_EQ(twice(1, 2), 4);
  auto copy = a;
  EXPECT_EQ(pool.active_blocks(), 2u);
  copy(0, 0) = 7;
  EXPECT_EQ(a(0, 0), 2);
  a = copy;
  EXPECT_EQ(a(0, 0), 7);
  EXPECT_EQ(pool.allocate<double>({0, 3}).size(), 0u);
  EXPECT_EQ(pool.allocate<double>({}).size(), 1u);
}

}  // namespace
}  // namespace quarry
