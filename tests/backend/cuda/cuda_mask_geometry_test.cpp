// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/geometry.hpp"

/// The grids of kernels that go through masks.
namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t row_counts[] = {1,    2,     31,     32,      33,       1000,
                                       4097, 70000, 300001, 5000000, 200000000};
constexpr std::int64_t row_sizes[] = {2, 3, 13, 16, 64, 800, 4096};

/// Every word of bits belongs to a warp, one block has no more than its shared memory, and large
/// selections have several.
TEST(cuda_mask_geometry, selections_have_a_bit_for_every_element_or_row) {
  for (const std::int64_t count : row_counts) {
    for (const std::int64_t bytes : {std::int64_t{0}, row_sizes[0], row_sizes[3], row_sizes[6]}) {
      for (const int multiprocessors : {0, 1, 132}) {
        const int width = bytes > 0 ? 1 : 16;
        const auto packed = static_cast<std::uint32_t>(bytes > 0 ? 0 : count % 3);
        const SelectGeometry g = select_geometry({.elements = count,
                                                  .span = count,
                                                  .vector_width = width,
                                                  .row_bytes = bytes,
                                                  .packed_size = packed},
                                                 multiprocessors);
        ASSERT_GE(32 * g.words(), count);
        ASSERT_EQ(g.words_of_warp % width, 0);
        if (g.blocks == 1) {
          ASSERT_LE(g.words(), kernels::select_words);
        }
      }
    }
  }
}

TEST(cuda_mask_geometry, few_long_rows_are_selected_by_many_blocks) {
  const auto blocks = [](std::int64_t rows, std::int64_t bytes) {
    return select_geometry({.elements = rows, .span = rows, .row_bytes = bytes}, 132).blocks;
  };
  EXPECT_EQ(blocks(1000, 16), 1u);
  EXPECT_EQ(blocks(1000, 0), 1u);
  EXPECT_GT(blocks(100'000, 4096), 100u);
  EXPECT_LT(blocks(100'000, 0), 10u);
}

TEST(cuda_mask_geometry, masked_rows_belong_to_a_warp_or_to_several) {
  for (const std::int64_t rows : row_counts) {
    for (const std::int64_t bytes : row_sizes) {
      for (const int multiprocessors : {0, 1, 132}) {
        const auto [grid, walk] = masked_rows_geometry(rows, bytes, multiprocessors);
        const std::int64_t warps = std::int64_t{grid} * flat_threads / 32;
        ASSERT_GE(walk.sharers, 1);
        if (walk.groups == 0) {
          ASSERT_LT(bytes, 64);
          ASSERT_GE(warps * 32 * kernels::chosen_row_vectors * 16, rows * bytes + 16);
          continue;
        }
        ASSERT_GE(bytes, 32);
        ASSERT_LE(walk.groups, kernels::most_row_groups);
        ASSERT_GE(warps / walk.sharers * walk.groups * 32, rows);
        ASSERT_LT((warps / walk.sharers - 8) * walk.groups * 32, rows) << "idle blocks";
      }
    }
  }
  EXPECT_GT(masked_rows_geometry(100, 1 << 20, 132).walk.sharers, 100);
  EXPECT_EQ(masked_rows_geometry(100, 64, 132).walk.sharers, 1);
  EXPECT_EQ(masked_rows_geometry(5000000, 64, 132).walk.groups, kernels::most_row_groups);
}

}  // namespace
}  // namespace quarry::backend::cuda
