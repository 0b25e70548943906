// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cmath>

#include <array>
#include <bit>
#include <vector>

#include <quarry/base/error.hpp>
#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/operands_case.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t extents[] = {
    1,   2,   3,   5,   7,    16,   31,   32,   33,    63,    64,    100,     127,      128,
    129, 255, 256, 257, 1000, 1024, 4095, 4096, 65535, 65536, 70000, 1000000, 16777216, 1 << 30};
constexpr int multiprocessors = 132;

TEST(cuda_geometry, a_flat_grid_covers_every_element) {
  EXPECT_EQ(flat_grid(1, 4), 1u);
  EXPECT_EQ(flat_grid(1024, 4), 1u);
  EXPECT_EQ(flat_grid(1025, 4), 2u);
  EXPECT_EQ(flat_grid(std::int64_t{1} << 38, 1), 1u << 30);
  EXPECT_THROW(flat_grid(INT64_MAX, 1), LogicError);
}

TEST(cuda_geometry, strided_blocks_are_legal_and_cover_every_element) {
  for (const std::int64_t columns : extents) {
    for (const std::int64_t rows : extents) {
      for (const int width : {1, 2, 4, 16}) {
        const StridedShape shape{columns, rows, 1000, 3 * width, 2, width};
        const StridedGeometry g = strided_geometry(shape, multiprocessors);
        const auto covered = std::int64_t{g.grid_x} * g.block_x * width;
        ASSERT_LE(g.block_x * g.block_y, 256u);
        ASSERT_GE(covered, columns + shape.lead);
        ASSERT_LT(covered, 2 * (columns + shape.lead + width));
        ASSERT_LE(g.grid_y, 65535u);
        ASSERT_TRUE(std::has_single_bit(static_cast<unsigned>(g.rows_a_thread)));
        const auto step = std::int64_t{g.grid_y} * g.block_y * g.rows_a_thread;
        ASSERT_TRUE(step >= rows || g.grid_y == 65535u);
        ASSERT_LT(step, 1 << 28);
        ASSERT_FALSE(g.wide_index);
      }
    }
  }
}

TEST(cuda_geometry, one_row_uses_whole_blocks) {
  const StridedGeometry g = strided_geometry({100000, 1, 1000}, multiprocessors);
  EXPECT_EQ(g.block_x, 256u);
  EXPECT_EQ(g.block_y, 1u);
}

TEST(cuda_geometry, threads_take_the_rows_that_the_device_does_not_need_as_blocks) {
  const auto rows = [](const StridedShape& shape) {
    return strided_geometry(shape, multiprocessors).rows_a_thread;
  };
  EXPECT_EQ(rows({4094, 4094, 1000}), 8);
  EXPECT_EQ(rows({1024, 2000, 1000}), 4);
  EXPECT_EQ(rows({4094, 100, 1000}), 1);
  EXPECT_EQ(rows({4096, 1 << 20, 1000, 0, 1, 4}), 2);
  EXPECT_EQ(rows({4096, 1 << 20, 1000, 0, 30, 1}), 2);
}

TEST(cuda_geometry, threads_of_many_operands_go_on_to_further_rows) {
  const auto turns = [](std::int64_t rows, int operands) {
    const StridedShape shape{4096, rows, 1000, 0, operands};
    const StridedGeometry g = strided_geometry(shape, multiprocessors);
    const auto step = std::int64_t{g.grid_y} * g.block_y * g.rows_a_thread;
    EXPECT_TRUE(g.grid_y == 65535u || rows <= 8 * step) << rows;
    EXPECT_GE(std::int64_t{g.grid_x} * g.grid_y, std::min<std::int64_t>(rows, multiprocessors));
    return (rows + step - 1) / step;
  };
  EXPECT_EQ(turns(1 << 16, 4), 1);
  EXPECT_EQ(turns(1 << 16, 9), 8);
  EXPECT_EQ(turns(1000, 9), 1);
  for (std::int64_t rows = 1; rows < 1 << 20; rows = rows * 3 / 2 + 1) turns(rows, 9);
}

/// The last of them, too few for all of a thread's, are read as often as a thread has rows.
TEST(cuda_geometry, threads_take_fewer_rows_where_many_would_be_the_last_ones) {
  const auto rows = [](std::int64_t of) {
    return strided_geometry({1 << 20, of, 1000}, multiprocessors).rows_a_thread;
  };
  EXPECT_EQ(rows(16), 8);
  EXPECT_EQ(rows(13), 4);
  EXPECT_EQ(rows(7), 1);
}

/// An array of 1000 columns of 4 bytes, repeated `times`, beside a cache of 64 KiB.
TEST(cuda_geometry, rows_that_are_repeated_far_apart_come_before_other_columns) {
  const auto repeats = [](std::int64_t times, std::int64_t rows, std::int64_t columns) {
    Case c{{256, 512}, {4, 4}, {rows * columns * 4, columns * 4, 4, 0, columns * 4, 4}};
    return repeats_rows(c.operands(), Shape{times, rows, columns}, 256, 64 << 10);
  };
  EXPECT_TRUE(repeats(3, 5, 1000));
  EXPECT_FALSE(repeats(1, 5, 1000));   // not repeated
  EXPECT_FALSE(repeats(3, 2, 1000));   // the cache has all rows
  EXPECT_FALSE(repeats(3, 50, 1000));  // it has not 256 columns of all of them
  Case same_rows{{256, 512}, {4, 4}, {4000, 4, 4, 0}};
  EXPECT_FALSE(repeats_rows(same_rows.operands(), Shape{1 << 20, 1000}, 256, 64 << 10));
}

TEST(cuda_geometry, large_calls_have_wide_indices) {
  constexpr std::int64_t limit = (std::int64_t{1} << 31) - (std::int64_t{1} << 28);
  EXPECT_FALSE(strided_geometry({10, 10, limit - 1}, 1).wide_index);
  EXPECT_TRUE(strided_geometry({10, 10, limit}, 1).wide_index);
  EXPECT_TRUE(strided_geometry({limit, 1, 0}, 1).wide_index);
  EXPECT_TRUE(strided_geometry({1, limit, 0}, 1).wide_index);
  EXPECT_TRUE(reduce_geometry({1, limit, 0, true}, 1).wide_index);
  EXPECT_TRUE(reduce_geometry({1, 10, limit, true}, 1).wide_index);
  ReduceShape pieces{2, limit, 0, false};
  pieces.vector_width = 8, pieces.in_pieces = true;
  EXPECT_TRUE(reduce_geometry(pieces, 1).wide_index);
}

TEST(cuda_geometry, long_rows_begin_at_lines) {
  const auto lead = [](std::uint64_t pointer, std::uint32_t size, std::int64_t stride,
                       std::int64_t columns) {
    return lead_of(Case{{pointer, 0}, {size, 4}, {stride, 0}}.operands(), columns);
  };
  EXPECT_EQ(lead(256, 4, 4, 4096), 0);
  EXPECT_EQ(lead(256 + 68, 4, 4, 4096), 17);
  EXPECT_EQ(lead(256 + 68, 4, 4, 1000), 0);
  EXPECT_EQ(lead(256 + 68, 4, 8, 4096), 0);
  EXPECT_EQ(lead(256 + 72, 24, 24, 4096), 0);
}

void expect_covers(const ReduceShape& shape, const ReduceGeometry& g) {
  if (shape.along_reduced) {
    ASSERT_TRUE(std::has_single_bit(g.block_x));
    ASSERT_EQ(g.chunk % shape.vector_width, 0);
  }
  ASSERT_LE(g.block_x * g.block_y, 256u);
  ASSERT_GE(g.block_x * g.block_y, 32u);
  std::int64_t outputs = g.grid_x * std::int64_t{g.block_y};  // of rows, or of short rows of them
  if (!shape.along_reduced) {
    const std::int64_t row = shape.columns / shape.vector_width;
    if (shape.in_tiles) {
      ASSERT_EQ(g.grid_x % ((row + g.block_x - 1) / g.block_x), 0);
      outputs = g.grid_x / ((row + g.block_x - 1) / g.block_x) * g.block_y * shape.columns;
    } else if (row < 32) {
      ASSERT_EQ(g.block_x % row, 0);
      outputs *= shape.columns;
    } else {
      outputs = g.grid_x * std::int64_t{g.block_x} * shape.vector_width;
    }
  }
  ASSERT_GE(outputs, shape.kept);
  ASSERT_GE(g.splits, 1);
  ASSERT_LE(g.splits, 65535);
  ASSERT_GE(g.splits * g.chunk, shape.reduced);
  ASSERT_LT((g.splits - 1) * g.chunk, shape.reduced);  // no split is empty
}

TEST(cuda_geometry, reductions_cover_every_element_once) {
  for (const std::int64_t kept : extents) {
    for (const std::int64_t reduced : extents) {
      for (const bool along : {false, true}) {
        for (const std::int64_t columns : extents) {
          if (kept % columns != 0) continue;
          for (const int width : {1, 4}) {
            if (!along && columns % width != 0) continue;
            const ReduceShape shape{kept, reduced, 1000, along, columns, width};
            expect_covers(shape, reduce_geometry(shape, multiprocessors));
            const ReduceShape tiles{kept, reduced, 1000, false, columns, width, true};
            if (!along) expect_covers(tiles, reduce_geometry(tiles, multiprocessors));
          }
        }
      }
    }
  }
}

TEST(cuda_geometry, outputs_in_any_order_are_split_too) {
  // two columns of three rows: (9124, 3, 2120, 2) over its axes 0 and 2
  EXPECT_GE(reduce_geometry({6, 9124 * 2120, 1000, false, 2}, multiprocessors).splits,
            multiprocessors);
  const ReduceGeometry g = reduce_geometry({6, 9124 * 2120, 1000, false, 3}, multiprocessors);
  EXPECT_EQ(g.block_x, 255u);  // consecutive threads read consecutive elements
  EXPECT_EQ(g.block_y, 1u);
}

TEST(cuda_geometry, tiles_of_outputs_are_read_and_written_in_runs) {
  for (const int width : {1, 2, 4}) {
    const ReduceShape shape{120 * 30480, 10, 1000, false, 30480, width, true};
    const ReduceGeometry g = reduce_geometry(shape, multiprocessors);
    EXPECT_GE(g.block_x * static_cast<unsigned>(width), 16u);
    EXPECT_GE(g.block_y, 16u);
    EXPECT_EQ(g.splits, 1);
  }
}

TEST(cuda_geometry, blocks_of_few_outputs_run_at_once) {
  for (const std::int64_t kept : {1, 2, 3, 7, 64}) {
    const ReduceGeometry g = reduce_geometry({kept, 1 << 26, 0, true, 1, 4}, multiprocessors);
    EXPECT_LE(g.grid_x * g.splits, 4 * multiprocessors);
    EXPECT_GT(g.grid_x * g.splits, 3 * multiprocessors);
  }
}

TEST(cuda_geometry, blocks_that_run_at_once_are_equally_many_on_every_multiprocessor) {
  for (const int resident : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const std::int64_t kept : {1, 2, 3}) {
      ReduceShape shape{kept, 1 << 26, 0, true, 1, 4};
      shape.resident = resident;
      const ReduceGeometry g = reduce_geometry(shape, multiprocessors);
      EXPECT_TRUE(g.runs_at_once);
      EXPECT_LE(g.grid_x * g.splits, resident * multiprocessors);
      EXPECT_GT(g.grid_x * g.splits, (resident - 1) * multiprocessors);
      expect_covers(shape, g);
    }
  }
  EXPECT_FALSE(reduce_geometry({1 << 20, 1 << 10, 0, true, 1, 4}, multiprocessors).runs_at_once);
  EXPECT_FALSE(reduce_geometry({1, 100, 0, true, 1, 4}, multiprocessors).runs_at_once);
}

TEST(cuda_geometry, no_place_is_left_for_blocks_of_the_next_kernel) {
  const auto resident = [](std::int64_t kept, int possible, std::uint64_t bytes) {
    return resident_blocks({.kept = kept, .reduced = 1 << 26, .span = 0}, true, possible, bytes,
                           multiprocessors);
  };
  constexpr std::uint64_t few = 1 << 20, many = std::uint64_t{1} << 30;
  for (const std::uint64_t bytes : {few, many}) {
    for (int possible = 1; possible < 8; ++possible)
      EXPECT_EQ(resident(1, possible, bytes), possible);
    EXPECT_EQ(resident(1, 0, bytes), 4);  // not known
  }
  // or as many as the kernel itself has
  EXPECT_EQ(resident(1, 8, few), 4);
  EXPECT_EQ(resident(2, 8, many), 4);
  EXPECT_EQ(resident(1, 8, many), 8);
}

/// Where all outputs are less than a wave, too many parts would write and read as much again.
TEST(cuda_geometry, partial_results_are_a_small_part_of_what_is_read) {
  for (const std::int64_t columns : {7931, 13787, 16951, 33000}) {
    for (const std::int64_t rows : {300, 529, 900, 3000}) {
      const std::int64_t row = 16 * columns;  // folded rows of bytes
      ReduceShape shape{row, rows, 0, false, row, 8};
      shape.accumulator_bytes = 8, shape.most_splits = rows / 320;
      const ReduceGeometry g = reduce_geometry(shape, multiprocessors);
      expect_covers(shape, g);
      EXPECT_LE(2 * g.splits * shape.accumulator_bytes, rows / 4) << columns << " " << rows;
    }
  }
}

/// If it is the only one, too.
TEST(cuda_geometry, the_last_wave_of_few_blocks_is_mostly_full) {
  for (const std::int64_t blocks : {70, 124, 200, 300, 430}) {
    const std::int64_t row = blocks * 64 * 8;
    ReduceShape shape{row, 1 << 16, 0, false, row, 8};
    const ReduceGeometry g = reduce_geometry(shape, multiprocessors);
    const double waves = static_cast<double>(g.grid_x * g.splits) / (4 * multiprocessors);
    EXPECT_LE(std::ceil(waves) / waves, waves > 1 ? 1.1 : 1.4) << blocks;
  }
}

/// The runs that blocks read are as long as that takes.
TEST(cuda_geometry, columns_of_a_few_waves_are_as_many_blocks_as_run_at_once) {
  for (const int resident : {3, 4, 6}) {
    for (const std::int64_t vectors : {9000, 14567, 24511, 30000}) {
      ReduceShape shape{vectors * 8, 500, 0, false, vectors * 8, 8};
      shape.resident = resident;
      const ReduceGeometry g = reduce_geometry(shape, multiprocessors);
      expect_covers(shape, g);
      EXPECT_TRUE(g.has_choice);
      EXPECT_LE(g.grid_x * g.splits, resident * multiprocessors) << vectors << " of " << resident;
    }
  }
}

TEST(cuda_geometry, threads_share_few_outputs_only) {
  EXPECT_EQ(reduce_geometry({1 << 22, 11, 1000, false, 1 << 22, 4}, multiprocessors).block_y, 1u);
  EXPECT_GT(reduce_geometry({1 << 12, 1 << 12, 1000, false, 1 << 12, 4}, multiprocessors).block_y,
            1u);
}

TEST(cuda_geometry, every_partial_result_is_combined) {
  for (const std::int64_t kept : extents) {
    for (const std::int64_t splits : {1, 2, 17, 2112, 65535}) {
      const FinishGeometry g = finish_geometry(kept, splits);
      ASSERT_GE(g.grid_x * std::int64_t{g.block_x}, kept);
      ASSERT_GE(g.block_x * g.block_y, 128u);
      ASSERT_LE(g.block_x * g.block_y, 512u);
    }
  }
}

TEST(cuda_geometry, few_outputs_are_split_over_the_device) {
  EXPECT_GE(reduce_geometry({1, 1 << 28, 0, true}, multiprocessors).splits, 2 * multiprocessors);
  EXPECT_GE(reduce_geometry({32, 1 << 20, 0, false, 32}, multiprocessors).splits, multiprocessors);
  EXPECT_EQ(reduce_geometry({1, 1000, 0, true}, multiprocessors).splits, 1);
  EXPECT_EQ(reduce_geometry({1 << 20, 1000, 0, true}, multiprocessors).splits, 1);
}

TEST(cuda_geometry, sums_of_few_elements_have_a_block_for_each_access) {
  constexpr std::int64_t step = 256 * 4;
  const auto geometry = [](std::int64_t kept, std::int64_t elements, bool is_light) {
    return reduce_geometry({.kept = kept,
                            .reduced = elements,
                            .span = 0,
                            .along_reduced = true,
                            .columns = 1,
                            .vector_width = 4,
                            .accumulator_bytes = is_light ? 8 : 16},
                           multiprocessors);
  };
  EXPECT_EQ(geometry(1, 8 * step, true).splits, 1);  // takes as long as to combine two parts
  EXPECT_EQ(geometry(1, 16 * step, true).splits, 16);
  EXPECT_LT(geometry(1, 16 * step, false).splits, 4);
  EXPECT_EQ(geometry(1, 4 * multiprocessors * step, true).chunk, 4 * step);  // in flight together
  for (const std::int64_t elements : {1000, 3000, 9000, 70000, 300000}) {
    for (const std::int64_t kept : {1, 3, 40}) {
      const ReduceGeometry g = geometry(kept, elements, true);
      EXPECT_TRUE(g.splits == 1 || g.block_x * g.block_y == 256) << kept << " " << elements;
      EXPECT_LE(g.grid_x * g.splits, 4 * multiprocessors) << kept << " " << elements;
    }
  }
}

TEST(cuda_geometry, counts_cover_every_element_once) {
  for (const std::int64_t elements : extents) {
    for (const std::int64_t bins : extents) {
      for (const int width : {1, 2, 16}) {
        const auto g = bincount_geometry(
            {.elements = elements, .bins = bins, .vector_width = width}, multiprocessors);
        ASSERT_GE(g.blocks * g.chunk, elements);
        ASSERT_LT((g.blocks - 1) * g.chunk, elements) << "a block has nothing to do";
        ASSERT_EQ(g.chunk % width, 0);
        if (g.is_private) {
          ASSERT_LE(bins, kernels::most_private_bins);
          ASSERT_LE(4 * bins * g.blocks, elements + 4 * bins) << "few elements for many counters";
        }
      }
    }
  }
}

TEST(cuda_geometry, a_block_counts_fewer_elements_than_its_counters_hold) {
  for (const int shift : {32, 33, 40, 60}) {
    const auto g = bincount_geometry({.elements = std::int64_t{1} << shift, .bins = 10}, 1);
    EXPECT_TRUE(g.is_private);
    EXPECT_LT(g.chunk, std::int64_t{1} << 32);
  }
  EXPECT_THROW(bincount_geometry({.elements = std::int64_t{1} << 62, .bins = 10}, 1), LogicError);
}

}  // namespace
}  // namespace quarry::backend::cuda
