// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include <quarry/base/error.hpp>

#include "backend/cuda/geometry.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t extents[] = {
    1,   2,   3,   5,   7,    16,   31,   32,   33,    63,    64,    100,     127,      128,
    129, 255, 256, 257, 1000, 1024, 4095, 4096, 65535, 65536, 70000, 1000000, 16777216, 1 << 30};
constexpr int multiprocessors = 132;

int width(std::initializer_list<std::uint64_t> pointers,
          std::initializer_list<std::uint32_t> sizes) {
  return vector_width({std::data(pointers), pointers.size()}, std::data(sizes));
}

TEST(cuda_geometry, vectors_are_sixteen_bytes_of_the_widest_operand) {
  EXPECT_EQ(width({256, 512}, {4, 4}), 4);
  EXPECT_EQ(width({256, 512}, {1, 1}), 16);
  EXPECT_EQ(width({256, 512}, {8, 2}), 2);
  EXPECT_EQ(width({256, 512}, {16, 1}), 1);
}

TEST(cuda_geometry, vectors_shrink_to_the_least_alignment) {
  EXPECT_EQ(width({256, 520}, {4, 4}), 2);
  EXPECT_EQ(width({256, 516}, {4, 4}), 1);
  EXPECT_EQ(width({257, 512}, {1, 1}), 1);
  EXPECT_EQ(width({256, 514}, {4, 1}), 2);
}

TEST(cuda_geometry, elements_that_are_no_power_of_two_are_moved_one_by_one) {
  EXPECT_EQ(width({256, 512}, {3, 1}), 1);
  EXPECT_EQ(width({256, 512}, {24, 24}), 1);
}

TEST(cuda_geometry, a_flat_grid_covers_every_element) {
  EXPECT_EQ(flat_geometry(1, 4).grid_x, 1u);
  EXPECT_EQ(flat_geometry(1024, 4).grid_x, 1u);
  EXPECT_EQ(flat_geometry(1025, 4).grid_x, 2u);
  EXPECT_EQ(flat_geometry(std::int64_t{1} << 38, 1).grid_x, 1u << 30);
  EXPECT_THROW(flat_geometry(INT64_MAX, 1), LogicError);
}

TEST(cuda_geometry, strided_blocks_are_legal_and_cover_every_element) {
  for (const std::int64_t columns : extents) {
    for (const std::int64_t rows : extents) {
      const StridedGeometry g = strided_geometry(columns, rows, 1000, multiprocessors);
      ASSERT_LE(g.block_x * g.block_y, 256u);
      ASSERT_GE(std::int64_t{g.grid_x} * g.block_x, columns);
      ASSERT_LE(g.grid_y, 65535u);
      ASSERT_TRUE(g.rows_a_thread == 1 || g.rows_a_thread == 4);
      const auto step = std::int64_t{g.grid_y} * g.block_y * g.rows_a_thread;
      ASSERT_TRUE(step >= rows || g.grid_y == 65535u);
      ASSERT_FALSE(g.wide_index);
      ASSERT_LT(std::int64_t{g.grid_x} * g.block_x, 2 * columns);
    }
  }
}

TEST(cuda_geometry, one_row_uses_whole_blocks) {
  const StridedGeometry g = strided_geometry(100000, 1, 1000, multiprocessors);
  EXPECT_EQ(g.block_x, 256u);
  EXPECT_EQ(g.block_y, 1u);
}

TEST(cuda_geometry, large_calls_have_wide_indices) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  EXPECT_FALSE(strided_geometry(10, 10, limit - 1, 1).wide_index);
  EXPECT_TRUE(strided_geometry(10, 10, limit, 1).wide_index);
  EXPECT_TRUE(strided_geometry(limit, 1, 0, 1).wide_index);
  EXPECT_TRUE(strided_geometry(1, limit, 0, 1).wide_index);
  EXPECT_TRUE(reduce_geometry({1, limit, 0, true, true}, 1).wide_index);
  EXPECT_TRUE(reduce_geometry({1, 10, limit, true, true}, 1).wide_index);
}

void expect_covers(const ReduceShape& shape, const ReduceGeometry& g) {
  ASSERT_TRUE(std::has_single_bit(g.block_x) && std::has_single_bit(g.block_y));
  ASSERT_LE(g.block_x * g.block_y, 256u);
  const auto outputs = std::int64_t{g.grid_x} * (shape.along_reduced ? g.block_y : g.block_x);
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
        for (const bool can_split : {false, true}) {
          const ReduceShape shape{kept, reduced, 1000, along, can_split};
          const ReduceGeometry g = reduce_geometry(shape, multiprocessors);
          expect_covers(shape, g);
          if (!can_split) {
            ASSERT_EQ(g.splits, 1);
          }
        }
      }
    }
  }
}

TEST(cuda_geometry, few_outputs_are_split_over_the_device) {
  EXPECT_GE(reduce_geometry({1, 1 << 28, 0, true, true}, multiprocessors).splits,
            2 * multiprocessors);
  EXPECT_GE(reduce_geometry({32, 1 << 20, 0, false, true}, multiprocessors).splits,
            multiprocessors);
  EXPECT_EQ(reduce_geometry({1, 1000, 0, true, true}, multiprocessors).splits, 1);
  EXPECT_EQ(reduce_geometry({1 << 20, 1000, 0, true, true}, multiprocessors).splits, 1);
}

}  // namespace
}  // namespace quarry::backend::cuda
