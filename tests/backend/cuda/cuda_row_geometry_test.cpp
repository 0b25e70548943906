// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <bit>

#include <quarry/base/error.hpp>

#include "backend/cuda/launch/row_geometry.hpp"

/// Blocks and grids of row programs, over shapes of every magnitude.
namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t extents[] = {1,    2,    3,    31,    32,    33,     100,    511,
                                    1000, 2048, 8192, 16384, 16385, 100000, 1 << 24};
constexpr int multiprocessors = 132;

template <class F>
void for_shapes(const F& f) {
  for (const std::int64_t rows : extents) {
    for (const std::int64_t elements : extents) {
      for (const int width : {1, 2, 4, 8}) {
        for (const bool along : {true, false}) {
          for (const std::uint32_t itemsize : {2u, 4u, 8u, 16u}) {
            if (itemsize * static_cast<std::uint32_t>(width) > 16) continue;
            if ((along ? elements : rows) % width != 0 || rows * elements > (1 << 30)) continue;
            const RowShape shape{rows, elements, 0, along, width, itemsize};
            f(shape, row_geometry(shape, multiprocessors));
          }
        }
      }
    }
  }
}

TEST(cuda_row_geometry, every_row_and_element_has_a_block) {
  for_shapes([](const RowShape& shape, const RowGeometry& g) {
    const std::int64_t x = g.block_x, y = g.block_y;
    const std::int64_t in_block = shape.along_reduced ? y : x * shape.vector_width;
    ASSERT_GE(g.grid_x * in_block, shape.rows);
    ASSERT_GE(g.splits * g.chunk, shape.elements);
    ASSERT_LT((g.splits - 1) * g.chunk, shape.elements) << "a split has nothing to do";
    ASSERT_LE(g.block_x * g.block_y, 512u);
    ASSERT_GE(g.block_x * g.block_y, 32u);
    if (shape.along_reduced) {
      ASSERT_TRUE(std::has_single_bit(g.block_x));
      ASSERT_EQ(g.chunk % shape.vector_width, 0);
    }
  });
}

TEST(cuda_row_geometry, kept_rows_fit_the_registers_and_leave_no_lane_without_its_share) {
  for_shapes([](const RowShape& shape, const RowGeometry& g) {
    if (g.count == 0) return;
    const std::int64_t lanes = shape.along_reduced ? g.block_x : g.block_y;
    const std::int64_t accesses =
        shape.along_reduced ? shape.elements / shape.vector_width : shape.elements;
    ASSERT_EQ(g.splits, 1);
    ASSERT_GE(g.count * lanes, accesses);
    ASSERT_LE((g.count - 1) * lanes, accesses);
    const std::int64_t size = std::max(shape.itemsize, 4u);
    ASSERT_LE(g.count * shape.vector_width * size, 128);
  });
}

TEST(cuda_row_geometry, rows_of_8192_are_read_once) {
  const auto count = [](std::int64_t elements, int width, std::uint32_t itemsize) {
    return row_geometry({1 << 14, elements, 0, true, width, itemsize}, multiprocessors).count;
  };
  EXPECT_EQ(count(8192, 4, 4), 8);
  EXPECT_EQ(count(8192, 8, 2), 4);
  EXPECT_EQ(count(8192, 2, 8), 8);
  EXPECT_EQ(count(16384, 4, 4), 8);
  EXPECT_EQ(count(16388, 4, 4), 0);
}

TEST(cuda_row_geometry, few_long_rows_are_split) {
  const auto splits = [](std::int64_t rows, std::int64_t elements) {
    return row_geometry({rows, elements, 0, true, 4, 4}, multiprocessors).splits;
  };
  EXPECT_GE(splits(1, 1 << 27), 2 * multiprocessors);
  EXPECT_EQ(splits(1, 16384), 1);
  EXPECT_EQ(splits(1 << 12, 1 << 16), 1);
}

TEST(cuda_row_geometry, more_rows_than_a_grid_covers_are_refused) {
  EXPECT_THROW(row_geometry({std::int64_t{1} << 50, 3, 0, true}, multiprocessors), LogicError);
}

TEST(cuda_row_geometry, the_output_decides_about_vectors_too) {
  const auto width = [](std::int64_t out_row, std::int64_t out_step, std::int64_t in_step) {
    std::vector<Operand> operands(2);
    for (Operand& operand : operands) operand.data = reinterpret_cast<std::byte*>(4096);
    operands[0].strides = {out_row, out_step};
    operands[1].strides = {4096, in_step};
    constexpr std::uint32_t sizes[] = {4, 4};
    return row_program_vectors({operands, sizes, 1}, 1, true, 1024);
  };
  EXPECT_EQ(width(4096, 4, 4).width, 4);
  EXPECT_EQ(width(4096, 4, 4).wide, 1);
  EXPECT_EQ(width(4096, 4, 0).wide, 0);
  EXPECT_EQ(width(4104, 4, 4).width, 2);
  EXPECT_EQ(width(4096, 8, 4).width, 1);
  EXPECT_EQ(width(4096, 4, 8).width, 1);
}

}  // namespace
}  // namespace quarry::backend::cuda
