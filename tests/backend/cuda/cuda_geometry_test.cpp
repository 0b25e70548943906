// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

#include <quarry/base/error.hpp>
#include <quarry/kernels/access.hpp>
#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/geometry.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t extents[] = {
    1,   2,   3,   5,   7,    16,   31,   32,   33,    63,    64,    100,     127,      128,
    129, 255, 256, 257, 1000, 1024, 4095, 4096, 65535, 65536, 70000, 1000000, 16777216, 1 << 30};
constexpr int multiprocessors = 132;

/// Operands by address, size of an element, and all their strides in a row.
struct Case {
  std::vector<std::uint64_t> pointers;
  std::vector<std::uint32_t> itemsizes;
  std::vector<std::int64_t> strides;
  std::size_t outputs = 1;
  std::vector<Operand> all{};

  CallOperands operands() {
    const auto rank = static_cast<std::ptrdiff_t>(strides.size() / pointers.size());
    auto first = strides.begin();
    all.clear();
    for (const std::uint64_t pointer : pointers) {
      all.push_back({reinterpret_cast<std::byte*>(pointer), Strides(first, first + rank)});
      first += rank;
    }
    return {all, itemsizes.data(), outputs};
  }
};

int width(std::vector<std::uint64_t> pointers, std::vector<std::uint32_t> sizes) {
  const std::vector<std::int64_t> dense(sizes.begin(), sizes.end());
  return vector_width(Case{std::move(pointers), std::move(sizes), dense}.operands());
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

void expect_vectors(const VectorAccess& access, int width, int wide, bool is_shifted = false) {
  EXPECT_EQ(access.places == VectorPlaces::shifted, is_shifted);
  EXPECT_EQ(access.width, width);
  EXPECT_EQ(access.wide, wide);
}

TEST(cuda_geometry, dense_rows_are_moved_by_vectors) {
  const auto vectors = [](std::int64_t columns) {
    return map_vectors(Case{{256, 512}, {4, 4}, {400, 4, 800, 4}}.operands(), columns);
  };
  expect_vectors(vectors(100), 4, 1);
  expect_vectors(vectors(102), 2, 1);
  expect_vectors(vectors(101), 1, 0);
}

TEST(cuda_geometry, an_input_that_does_not_move_is_read_once_a_vector) {
  Case c{{256, 513, 512}, {4, 24, 2}, {400, 4, 24, 0, 200, 2}};
  expect_vectors(map_vectors(c.operands(), 100), 4, 2);
}

TEST(cuda_geometry, vectors_of_rows_are_aligned_in_every_row) {
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {408, 4, 800, 4}}.operands(), 100), 2, 1);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {404, 4, 800, 4}}.operands(), 100), 1, 0);
  expect_vectors(map_vectors(Case{{264, 512}, {4, 4}, {400, 4, 800, 4}}.operands(), 100), 2, 1);
  expect_vectors(map_vectors(Case{{256, 516}, {4, 4}, {400, 4, 800, 4}}.operands(), 100), 1, 0);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {400, 4, 800, 8}}.operands(), 100), 1, 0);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {400, 4, -800, 4}}.operands(), 100), 4, 1);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {400, 8, 800, 4}}.operands(), 100), 1, 0);
}

TEST(cuda_geometry, every_output_is_written_by_vectors) {
  const std::vector<std::int64_t> strides{400, 4, 800, 8, 400, 4};
  expect_vectors(map_vectors(Case{{256, 512, 1024}, {4, 8, 4}, strides, 2}.operands(), 100), 2, 1);
  expect_vectors(map_vectors(Case{{256, 520, 1024}, {4, 8, 4}, strides, 2}.operands(), 100), 1, 0);
  const std::vector<std::int64_t> far{400, 4, 800, 16, 400, 4};
  expect_vectors(map_vectors(Case{{256, 512, 1024}, {4, 8, 4}, far, 2}.operands(), 100), 1, 0);
}

TEST(cuda_geometry, too_many_inputs_are_read_one_by_one) {
  for (const std::size_t inputs : {16u, 17u}) {
    Case c{std::vector<std::uint64_t>(inputs + 1, 256), std::vector<std::uint32_t>(inputs + 1, 4),
           std::vector<std::int64_t>(inputs + 1, 4)};
    expect_vectors(map_vectors(c.operands(), 100), inputs > 16 ? 1 : 4, inputs > 16 ? 0 : 0xffff);
  }
}

TEST(cuda_geometry, reductions_read_vectors_whatever_their_output) {
  expect_vectors(row_vectors(Case{{257, 512}, {8, 4}, {3, 0, 800, 4}}.operands(), 1, 100), 4, 1);
  expect_vectors(row_vectors(Case{{257, 512}, {8, 4}, {3, 0, 804, 4}}.operands(), 1, 100), 4, 1,
                 true);
  expect_vectors(row_vectors(Case{{256, 512}, {4, 4}, {4, 0, 4, 0}}.operands(), 1, 100), 1, 0);
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

TEST(cuda_geometry, rows_of_any_alignment_have_vectors_if_all_are_shifted_alike) {
  const auto rows = [](std::vector<std::uint64_t> pointers, std::vector<std::int64_t> strides,
                       std::size_t reduced_rank, std::int64_t extent) {
    std::vector<std::uint32_t> sizes(pointers.size(), 4);
    sizes[0] = 8;
    return row_vectors(Case{std::move(pointers), std::move(sizes), std::move(strides)}.operands(),
                       reduced_rank, extent);
  };
  expect_vectors(rows({256, 516}, {8, 0, 4004, 4}, 1, 1001), 4, 1, true);
  expect_vectors(rows({256, 516}, {8, 0, 4004, 4}, 1, 20), 2, 1, true);
  expect_vectors(rows({256, 512}, {8, 0, 4000, 4}, 1, 20), 4, 1);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 4004, 4}, 1, 1001), 4, 3, true);
  expect_vectors(rows({256, 512, 1028}, {8, 0, 4004, 4, 4004, 4}, 1, 1001), 1, 0);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 4008, 4}, 1, 1001), 1, 0);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 0, 0}, 1, 1001), 4, 1, true);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 8, 8}, 1, 1001), 1, 0);
  expect_vectors(rows({256, 512}, {8, 0, 400, 4}, 2, 100), 4, 1);
  expect_vectors(rows({256, 512}, {8, 0, 404, 4}, 2, 101), 1, 0);
}

TEST(cuda_geometry, rows_of_every_second_element_have_vectors_with_gaps) {
  constexpr int gaps = 1 << kernels::input_access::every_second;
  const auto rows = [](std::uint64_t pointer, std::uint32_t size, std::int64_t row,
                       std::size_t reduced_rank = 1) {
    const auto step = static_cast<std::int64_t>(2 * size);
    Case c{{256, pointer}, {8, size}, {8, 0, row, step}};
    return row_vectors(c.operands(), reduced_rank, 1000);
  };
  expect_vectors(rows(512, 1, 2000), 8, 1 | gaps, true);
  expect_vectors(rows(514, 1, 2002), 8, 1 | gaps, true);
  expect_vectors(rows(512, 2, 4000), 4, 1 | gaps, true);
  expect_vectors(rows(512, 4, 8000), 2, 1 | gaps, true);
  expect_vectors(rows(512, 8, 16000), 1, 0);
  expect_vectors(rows(513, 1, 2000), 1, 0);
  expect_vectors(rows(512, 1, 2001), 1, 0);
  expect_vectors(rows(512, 1, 2000, 2), 1, 0);
  const auto pair = [](std::uint32_t first, std::int64_t step, std::uint32_t second) {
    Case c{{256, 512, 1024}, {8, first, second}, {8, 0, 8000, step, 8000, 4}};
    return row_vectors(c.operands(), 1, 1000);
  };
  expect_vectors(pair(2, 4, 2), 4, 3 | 3 * gaps, true);
  expect_vectors(pair(2, 4, 4), 4, 3 | gaps, true);
  expect_vectors(pair(2, 2, 4), 4, 3);
  expect_vectors(pair(2, 2, 2), 1, 0);
  Case many{std::vector<std::uint64_t>(16, 256), std::vector<std::uint32_t>(16, 1),
            std::vector<std::int64_t>(16, 2)};
  expect_vectors(row_vectors(many.operands(), 1, 1000), 1, 0);
}

TEST(cuda_geometry, columns_have_vectors_along_the_last_kept_axis) {
  const auto columns = [](std::uint32_t size, std::int64_t row, std::int64_t extent) {
    Case c{{256, 512}, {8, size}, {8, 0, size, row}};
    return column_vectors(c.operands(), 0, extent);
  };
  expect_vectors(columns(4, 400, 100), 4, 1);
  expect_vectors(columns(4, 408, 102), 2, 1);
  expect_vectors(columns(4, 404, 101), 1, 0);
  expect_vectors(columns(2, 400, 200), 4, 1);
  expect_vectors(columns(8, 800, 100), 2, 1);
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
