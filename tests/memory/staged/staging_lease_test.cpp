// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/staging_lease.hpp"

#include <gtest/gtest.h>

#include <random>

#include "fake_driver/test_device.hpp"
#include "memory/host_layouts.hpp"

namespace quarry::memory {
namespace {

/// A buffer that is used again at once is in the caches of the cores, which slows the link down.
TEST(StagingLease, ChunksGoThroughAllOfTheBuffer) {
  if (Device().is_cpu()) GTEST_SKIP() << "no buffers";
  const test::TinyStagingPool tiny;
  backend::Device& device = Device().backend();
  const TransferThresholds t = thresholds_of(device);
  StagingPool& pool = StagingPool::of(device);
  auto lease = StagingLease::of(pool, device, pool.acquire(t.chunk_bytes, t));
  ASSERT_TRUE(lease);
  std::mt19937 random(3);
  std::byte *const begin = lease->memory(), *end = begin;
  for (int k = 0; k < 200; ++k) {
    const std::size_t bytes = 1 + random() % t.chunk_bytes;
    std::byte* const at = lease->place(bytes);
    EXPECT_LE(at + bytes, begin + t.chunk_bytes);
    if (at < end) {
      EXPECT_EQ(at, begin);
      EXPECT_GT(end + bytes + 63, begin + t.chunk_bytes) << "there was room";
    }
    end = at + bytes;
  }
}

}  // namespace
}  // namespace quarry::memory
