// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/transfer_plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "memory/staged/chunks.hpp"

namespace quarry::memory {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

TransferThresholds thresholds() {
  TransferThresholds t;
  t.threads = 8;
  t.strided_threads = 12;
  return t;
}

/// At addresses that nobody reads.
struct Ask {
  Shape shape;
  Strides host, device;
  bool page_locked = false, waits = true, batches = true, down = false;
  bool split = false;
  static std::byte* address(std::uintptr_t at) { return reinterpret_cast<std::byte*>(at); }
  HostCopy copy() const {
    return {down ? backend::Direction::device_to_host : backend::Direction::host_to_device,
            {address(1 << 20), dtype_of<float>, {shape, host}},
            {address(2 << 20), dtype_of<float>, {shape, device}, nullptr},
            waits};
  }
  TransferPlan plan() const {
    return plan_transfer(copy(), {page_locked, batches, split}, thresholds());
  }
};

Strides c(const Shape& shape) { return c_strides(shape, 4); }

TEST(TransferPlan, DensePageLockedIsOneCopyOfAnySize) {
  for (const std::int64_t n : {1, 1000, 100000000}) {
    const auto plan = Ask{{n}, {4}, {4}, true}.plan();
    EXPECT_EQ(plan.route, Route::direct);
    EXPECT_TRUE(plan.lands);
    EXPECT_EQ(plan.packed.bytes, static_cast<std::size_t>(4 * n));
  }
}

TEST(TransferPlan, DensePageableIsTheDriversBelowTheThreshold) {
  const auto route = [](std::int64_t bytes, bool waits, bool down) {
    return Ask{{bytes / 4}, {4}, {4}, false, waits, true, down}.plan().route;
  };
  const auto limit = static_cast<std::int64_t>(thresholds().staged_bytes);
  const auto taken = static_cast<std::int64_t>(thresholds().taken_bytes);
  EXPECT_EQ(route(limit - 4, true, false), Route::direct);
  EXPECT_EQ(route(limit, true, false), Route::staged);
  EXPECT_EQ(route(taken - 4, false, false), Route::direct);
  EXPECT_EQ(route(taken, false, false), Route::staged);
  EXPECT_EQ(route(limit - 4, true, true), Route::direct);
  EXPECT_EQ(route(4, false, true), Route::staged) << "the driver would wait";
}

TEST(TransferPlan, WhatTheDriverCannotCopyInOnePieceIsNeverItsOwn) {
  const auto route = [](std::int64_t bytes, bool waits, bool down) {
    Ask ask{{bytes / 4}, {4}, {4}, false, waits, true, down};
    ask.split = true;
    return ask.plan().route;
  };
  const auto limit = static_cast<std::int64_t>(thresholds().staged_bytes);
  const auto taken = static_cast<std::int64_t>(thresholds().taken_bytes);
  for (const bool down : {false, true}) {
    EXPECT_EQ(route(4, true, down), Route::packed);
    EXPECT_EQ(route(limit - 4, true, down), Route::packed);
    EXPECT_EQ(route(limit, true, down), Route::staged);
  }
  EXPECT_EQ(route(taken - 4, false, false), Route::packed);
  EXPECT_EQ(route(taken, false, false), Route::staged);
  EXPECT_EQ(route(4, false, true), Route::staged) << "the caller does not wait";
}

TEST(TransferPlan, ATransposedHostIsSentInItsOwnOrder) {
  const Ask ask{{8192, 4096}, {4, 4 * 8192}, c({8192, 4096})};
  const auto plan = ask.plan();
  EXPECT_EQ(plan.route, Route::staged);
  EXPECT_TRUE(plan.packed.walk.is_dense());
  EXPECT_FALSE(plan.lands);
  EXPECT_EQ(plan.packed.layout.shape, (Shape{4096, 8192}));
  EXPECT_EQ(plan.packed.layout.strides, c({4096, 8192}));
  EXPECT_EQ(ask.copy().device.layout.strides, (Strides{4, 4 * 4096}));
}

TEST(TransferPlan, EqualOrdersLandWhereTheyBelong) {
  EXPECT_TRUE((Ask{{100, 200}, {4, 400}, {4, 400}}.plan().lands));
  EXPECT_TRUE((Ask{{100, 200}, {1600, 8}, c({100, 200})}.plan().lands));
  EXPECT_FALSE((Ask{{100, 200}, c({100, 200}), {1600, 8}}.plan().lands));
}

TEST(TransferPlan, AReversedHostIsWalkedForwards) {
  const Ask ask{{10}, {-4}, {4}};
  const auto plan = ask.plan();
  EXPECT_TRUE(plan.packed.walk.is_dense());
  EXPECT_EQ(ask.copy().host.data, Ask::address((1 << 20) - 36));
  EXPECT_EQ(ask.copy().device.data, Ask::address((2 << 20) + 36));
  EXPECT_EQ(ask.copy().device.layout.strides, (Strides{-4}));
  EXPECT_FALSE(plan.lands);
  EXPECT_TRUE((Ask{{10}, {-4}, {-4}}.plan().lands));
}

TEST(TransferPlan, ARepeatingHostIsSentOnce) {
  const auto plan = Ask{{1000, 3}, {0, 4}, c({1000, 3})}.plan();
  EXPECT_EQ(plan.packed.bytes, 12u);
  EXPECT_FALSE(plan.lands);
  EXPECT_EQ((Ask{{5, 5}, {0, 0}, c({5, 5})}.plan().packed.bytes), 4u);
}

TEST(TransferPlan, PageLockedRowsAreCopiedAsTheyLie) {
  const auto straight = Ask{{8192, 1024}, {4 * 8192, 4}, {4 * 2048, 4}, true}.plan();
  EXPECT_EQ(straight.route, Route::rectangle);
  EXPECT_TRUE(straight.lands);
  EXPECT_EQ(straight.rectangle->bytes, 4096u);
  EXPECT_EQ(straight.rectangle->rows, 8192u);
  EXPECT_EQ(straight.rectangle->host_pitch, 4u * 8192);
  EXPECT_EQ(straight.rectangle->device_pitch, 4u * 2048);
  const auto packed = Ask{{8192, 1024}, {4 * 8192, 4}, {4, 4 * 8192}, true}.plan();
  EXPECT_EQ(packed.route, Route::rectangle);
  EXPECT_FALSE(packed.lands);
  EXPECT_EQ(packed.rectangle->device_pitch, 4096u);
}

TEST(TransferPlan, BlocksOfThreeAxesAreSlices) {
  const auto plan = Ask{{10, 20, 256}, {4 * 512 * 40, 4 * 512, 4}, c({10, 20, 256}), true}.plan();
  EXPECT_EQ(plan.route, Route::rectangle);
  EXPECT_EQ(plan.rectangle->slices, 10u);
  EXPECT_EQ(plan.rectangle->rows, 20u);
}

TEST(TransferPlan, ManyShortRowsAreGathered) {
  EXPECT_EQ((Ask{{1000000, 8}, {128, 4}, c({1000000, 8}), true}.plan().route), Route::staged);
  EXPECT_EQ((Ask{{10, 16}, {128, 4}, c({10, 16}), true}.plan().route), Route::rectangle);
  EXPECT_EQ((Ask{{4096, 4096}, {4 * 8192, 8}, c({4096, 4096}), true}.plan().route), Route::staged);
}

TEST(TransferPlan, LongPiecesOfFourAxesAreABatch) {
  const Shape shape{3, 4, 5, 20000};
  const Strides host{5000000, 900000, 90000, 4};
  EXPECT_EQ((Ask{shape, host, c(shape), true}.plan().route), Route::batch);
  EXPECT_EQ((Ask{shape, host, c(shape), true, true, false}.plan().route), Route::staged);
}

TEST(TransferPlan, SmallStridedPageableGoesInOnePiece) {
  EXPECT_EQ((Ask{{100}, {8}, {4}}.plan().route), Route::packed);
  EXPECT_EQ((Ask{{100000000}, {8}, {4}}.plan().route), Route::staged);
}

TEST(TransferPlan, ScalarsAreDense) {
  const auto plan = Ask{{}, {}, {}}.plan();
  EXPECT_EQ(plan.route, Route::direct);
  EXPECT_EQ(plan.packed.bytes, 4u);
  EXPECT_TRUE(plan.lands);
}

TEST(TransferPlan, ChunksFitABufferAndEndWhereTheCopyEnds) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, 5 * MiB, 64 * MiB + 3}) {
    for (const std::size_t most : {std::size_t{900}, 1 * MiB, 8 * MiB}) {
      std::size_t first = 0;
      for (const std::size_t end : chunk_ends(bytes, MiB / 2, most)) {
        EXPECT_GT(end, first);
        EXPECT_LE(end - first, most);
        first = end;
      }
      EXPECT_EQ(first, bytes);
    }
  }
}

TEST(TransferPlan, AllThreadsHavePartsOfTheFirstChunk) {
  const auto t = thresholds();
  for (const std::size_t bytes : {MiB, 4 * MiB, 16 * MiB, 1024 * MiB}) {
    const std::size_t block = block_for(bytes, t);
    EXPECT_LE(block, t.block_bytes);
    EXPECT_GE(chunk_ends(bytes, t.least_chunk, t.chunk_bytes).front() / block,
              bytes > 4 * MiB ? 4u : 8u);
  }
  EXPECT_GT(block_for(1, t), 0u);
}

TEST(TransferPlan, ChunksAreSmallAtBothEnds) {
  for (const std::size_t bytes : {16 * MiB, 60 * MiB, 64 * MiB, 129 * MiB}) {
    const auto ends = chunk_ends(bytes, MiB / 2, 8 * MiB);
    EXPECT_EQ(ends.front(), MiB / 2);
    EXPECT_LE(bytes - ends[ends.size() - 2], MiB) << bytes;
    EXPECT_LE(ends.size(), bytes / (8 * MiB) + 12) << bytes;
  }
}

Walk dense(std::size_t bytes) { return walk_of({}, {}, bytes); }
Walk rows(std::size_t bytes) {
  return walk_of({static_cast<std::int64_t>(bytes / 2048), 512}, {4096, 4}, 4);
}
Walk short_runs(std::size_t bytes) {
  return walk_of({static_cast<std::int64_t>(bytes / 4)}, {12}, 4);
}

TEST(TransferPlan, FewerThreadsStorePastTheCache) {
  auto t = thresholds();
  t.threads = 8;
  EXPECT_EQ(threads_for(dense(64 * MiB), true, t), 5u);
  EXPECT_EQ(threads_for(dense(64 * MiB), false, t), 8u);
  EXPECT_EQ(threads_for(dense(t.chunk_bytes), true, t), 8u);
  EXPECT_EQ(threads_for(dense(t.nontemporal_bytes + 1), true, t), 8u);
  EXPECT_EQ(threads_for(rows(64 * MiB), true, t), 8u);
  EXPECT_EQ(threads_for(short_runs(64 * MiB), true, t), t.strided_threads);
  t.threads = 1;
  EXPECT_EQ(threads_for(dense(64 * MiB), true, t), 1u);
}

TEST(TransferPlan, ShortUploadsAndLongDownloadsAreStoredPastTheCache) {
  const auto t = thresholds();
  const std::size_t least = t.nontemporal_bytes + 4096;
  EXPECT_EQ(stores_for(dense(MiB), true, t), Stores::nontemporal);
  EXPECT_EQ(stores_for(dense(least), true, t), Stores::cached);
  EXPECT_EQ(stores_for(dense(MiB), false, t), Stores::cached);
  EXPECT_EQ(stores_for(dense(least), false, t), Stores::nontemporal);
  EXPECT_EQ(stores_for(rows(MiB), true, t), Stores::nontemporal);
  EXPECT_EQ(stores_for(rows(t.nontemporal_strided_bytes + 4096), true, t), Stores::cached);
  EXPECT_EQ(stores_for(rows(least), false, t), Stores::cached);
}

}  // namespace
}  // namespace quarry::memory
