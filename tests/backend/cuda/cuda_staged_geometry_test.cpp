// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/reduce_staged.hpp"

/// Stages and grids of reductions of short rows, over rows of every length.
namespace quarry::backend::cuda {
namespace {

constexpr int multiprocessors = 132;

StagedRows rows_of(std::int64_t columns, std::int64_t length, int itemsize, int gap,
                   std::int64_t places) {
  const int unit = itemsize * gap;
  return {.columns = columns,
          .pitch = length * unit,
          .length = length,
          .unit = unit,
          .itemsize = itemsize,
          .places = places,
          .has_places = places > 1};
}

template <class F>
void for_rows(const F& f) {
  for (const std::int64_t columns : {1, 7, 31, 32, 100, 5000, 1000000}) {
    for (std::int64_t length = 1; length < 700; length += 1 + length / 9) {
      for (const std::int64_t places : {1, 2, 3, 31, 1000}) {
        for (const int itemsize : {1, 2, 4, 8}) {
          for (const int gap : {1, 2}) f(rows_of(columns, length, itemsize, gap, places));
        }
      }
    }
  }
}

TEST(cuda_staged_geometry, the_accesses_of_a_row_have_all_of_it) {
  int staged = 0;
  for_rows([&](const StagedRows& rows) {
    const auto shape = stage_shape(rows);
    if (!shape) return;
    ++staged;
    const std::int64_t vector = 16 / rows.unit, of_lanes = shape->lanes * vector;
    ASSERT_GE(shape->accesses * of_lanes, rows.length);
    ASSERT_LE((shape->accesses - 1) * of_lanes, rows.length);  // whole but for the last one
    const std::int64_t row = (rows.length - 1) * rows.unit + rows.itemsize;
    const std::int64_t segment = (32 / shape->lanes - 1) * rows.pitch + row + 15;
    ASSERT_LE(segment * shape->segments, kernels::stage_vectors * 16);
  });
  EXPECT_GT(staged, 2000);
}

TEST(cuda_staged_geometry, every_output_and_place_has_a_warp) {
  for_rows([](const StagedRows& rows) {
    const auto shape = stage_shape(rows);
    if (!shape) return;
    for (const std::int64_t lines : {1, 6}) {
      for (const std::int64_t most_splits : {0, 1, 5, 100000}) {
        const auto g =
            staged_geometry(rows, *shape, lines * rows.columns, most_splits, multiprocessors);
        ASSERT_EQ(g.block_x * g.block_y, 256u);
        ASSERT_EQ(g.block_x % 32, 0u);
        const std::int64_t outputs = 32 / shape->lanes * (rows.has_places ? 1 : shape->segments);
        const std::int64_t items = lines * ((rows.columns + outputs - 1) / outputs);
        ASSERT_GE(g.splits, 1);
        ASSERT_LE(g.splits, std::max<std::int64_t>(most_splits, 1));
        if (rows.has_places) {
          ASSERT_GE(g.grid_x * (g.block_x / 32), items);
          ASSERT_GE(g.splits * g.chunk, rows.places);
          ASSERT_LT((g.splits - 1) * g.chunk, rows.places);
        } else {
          ASSERT_EQ(g.chunk, items);
          ASSERT_LE(g.grid_x, 4u * multiprocessors);
        }
      }
    }
  });
}

TEST(cuda_staged_geometry, blocks_run_at_once_or_in_many_waves) {
  const auto geometry_of = [](const StagedRows& rows, std::int64_t most_splits) {
    return staged_geometry(rows, *stage_shape(rows), rows.columns, most_splits, multiprocessors);
  };
  // 848 warps of outputs: four warps share each, so that 424 blocks run at once
  const auto few = geometry_of(rows_of(27109, 63, 1, 1, 31), 2);
  EXPECT_EQ(few.grid_x * few.splits, 424u);
  EXPECT_EQ(few.block_y, 4u);
  const auto many = geometry_of(rows_of(1339677, 21, 1, 1, 4), 1);
  EXPECT_EQ(many.block_y, 1u);
  EXPECT_GT(many.grid_x, 9u * 4 * multiprocessors);
  // 22 warps of outputs
  const auto split = geometry_of(rows_of(87, 97, 4, 1, 500), 1000);
  EXPECT_EQ(split.block_y, 8u);
  EXPECT_GT(split.splits, 10);
  // three warps of outputs
  const auto few_outputs = geometry_of(rows_of(41, 19, 2, 2, 61627), 1000);
  EXPECT_GT(few_outputs.grid_x * few_outputs.splits, 3u * multiprocessors);
  EXPECT_LE(few_outputs.grid_x * few_outputs.splits, 4u * multiprocessors);
}

TEST(cuda_staged_geometry, rows_that_vectors_are_as_fast_for_have_no_stages) {
  EXPECT_FALSE(stage_shape(rows_of(100000, 48, 1, 1, 1)));
  EXPECT_FALSE(stage_shape(rows_of(100000, 64, 4, 1, 1)));
  EXPECT_FALSE(stage_shape(rows_of(100000, 601, 1, 1, 1)));  // too long
  EXPECT_FALSE(stage_shape(rows_of(35, 9, 1, 1, 10)));       // of 64 threads 29 have no row
  EXPECT_TRUE(stage_shape(rows_of(100000, 47, 1, 1, 1)));
}

}  // namespace
}  // namespace quarry::backend::cuda
