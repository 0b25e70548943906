// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "backend/cuda/launch/tile_banks.hpp"
#include "backend/cuda/operands_case.hpp"

/// How transposed copies are cut into tiles: which tiles follow each other, how long their rows
/// are, and in which banks of shared memory their elements lie.
namespace quarry::backend::cuda {
namespace {

constexpr int multiprocessors = 132;

/// Copies the transpose of a dense matrix.
struct Transpose {
  Transpose(std::uint32_t size, std::int64_t rows, std::int64_t columns)
      : operands{{1 << 20, std::uint64_t{1} << 40},
                 {size, size},
                 {rows * size, std::int64_t{size}, std::int64_t{size}, columns * size}},
        tiles(tiles_of(operands.operands(), Shape(std::vector{columns, rows}), multiprocessors)
                  .value()) {}

  /// The tile's part along the rows of the input (0) or of the output (1), as the kernel finds it.
  std::int64_t part(std::uint32_t tile, bool is_of_output) const {
    const kernels::tiled_axis& axis =
        tiles.tiling.write.axis[tiles.variant.rank - (is_of_output ? 1 : 2)];
    return axis.every.quotient(tile) % axis.parts.constant;
  }
  /// Of the elements that a warp reads at once: the most different words in one bank, as they are
  /// in the tile (unswizzled), by plain loops.
  std::size_t words_in_a_bank() const {
    const kernels::tile_walk& walk = tiles.tiling.write;
    const kernels::tiled_axis &row = walk.axis[tiles.variant.rank - 2],
                              &column = walk.axis[tiles.variant.rank - 1];
    std::map<std::uint32_t, std::set<std::uint32_t>> words;
    for (std::uint32_t thread = 0; thread < 32; ++thread) {
      const std::uint32_t i = thread >> walk.lanes_log2,
                          lane = thread & ((1u << walk.lanes_log2) - 1);
      const std::uint32_t j = lane * static_cast<std::uint32_t>(tiles.variant.width);
      if (i >= walk.rows || j >= column.size.constant) continue;
      const std::uint32_t word = (i * row.pitch + j * column.pitch) * operands.itemsizes[0] / 4;
      words[word % 32].insert(word);
    }
    std::size_t most = 0;
    for (const auto& [bank, different] : words) most = std::max(most, different.size());
    return most;
  }
  /// Of the elements that a tile has space for, the share that it has.
  double filled() const {
    const kernels::tile_walk& walk = tiles.tiling.read;
    const std::uint32_t elements = walk.rows * walk.axis[tiles.variant.rank - 1].size.constant;
    return static_cast<double>(elements) / kernels::most_tile_elements(operands.itemsizes[0], 1);
  }
  std::uint32_t conflicts() const { return bank_conflicts(tiles, operands.itemsizes[0], 4); }

  Case operands;
  Tiles tiles;
};

TEST(cuda_tiles, tiles_of_a_short_row_of_the_input_follow_each_other) {
  const Transpose few(4, 300000, 291);  // rows that begin anywhere in a sector
  const std::int64_t parts = few.tiles.tiling.write.axis[few.tiles.variant.rank - 2].parts.constant;
  ASSERT_GT(parts, 2);
  for (std::uint32_t tile = 0; tile < 3 * parts; ++tile) {
    EXPECT_EQ(few.part(tile, false), tile % parts);
    EXPECT_EQ(few.part(tile, true), tile / parts);
  }
}

TEST(cuda_tiles,
     tiles_of_a_row_of_the_output_follow_each_other_where_those_of_the_input_have_many) {
  const Transpose many(4, 9000, 9001);
  const std::int64_t parts =
      many.tiles.tiling.write.axis[many.tiles.variant.rank - 1].parts.constant;
  ASSERT_GT(parts, 2);
  for (std::uint32_t tile = 0; tile < 3 * parts; ++tile) {
    EXPECT_EQ(many.part(tile, true), tile % parts);
    EXPECT_EQ(many.part(tile, false), tile / parts);
  }
}

TEST(cuda_tiles, a_row_of_the_output_is_whole_rather_than_a_part_and_a_rest) {
  const auto has_whole = [](std::uint32_t size, std::int64_t row) {
    const Transpose copy(size, row, 100000);
    const kernels::tile_walk& walk = copy.tiles.tiling.write;  // several rows may be one
    return walk.axis[copy.tiles.variant.rank - 1].size.constant % row == 0;
  };
  EXPECT_TRUE(has_whole(4, 74));
  EXPECT_FALSE(has_whole(4, 128));  // two equal parts, and longer rows of the input
  EXPECT_FALSE(has_whole(8, 74));
}

TEST(cuda_tiles, elements_in_few_banks_are_swizzled) {
  const Transpose halves(2, 6000000, 8);  // columns 16 bytes apart, 8 of them a thread
  EXPECT_TRUE(halves.tiles.variant.swizzled);
  EXPECT_GE(halves.words_in_a_bank(), 16u);
  EXPECT_LE(halves.conflicts(), 2u);
  const Transpose few(2, 60000, 8);  // less than a full tile for each multiprocessor
  EXPECT_FALSE(few.tiles.variant.swizzled);
  EXPECT_EQ(few.conflicts(), few.words_in_a_bank());
  const Transpose floats(4, 8192, 8192);  // rows an odd number of elements apart
  EXPECT_FALSE(floats.tiles.variant.swizzled);
  EXPECT_EQ(floats.conflicts(), floats.words_in_a_bank());
  EXPECT_LE(floats.conflicts(), 2u);
}

TEST(cuda_tiles, rows_of_the_output_that_begin_anywhere_are_written_by_shifted_vectors) {
  for (const std::uint32_t size : {1u, 2u, 4u, 8u}) {
    const Transpose copy(size, 8359, 4739);
    EXPECT_TRUE(copy.tiles.variant.shifted) << size;
    EXPECT_GE(static_cast<std::uint32_t>(copy.tiles.variant.width) * size, 8u) << size;
    EXPECT_GT(copy.tiles.tiling.write.axis[copy.tiles.variant.rank - 1].before, 0u) << size;
  }
}

/// How far the parts of the output's rows that a tile writes go beyond a sector is what the next
/// tile reads, too.
TEST(cuda_tiles, parts_of_rows_overlap_where_whole_rows_of_the_input_are_read) {
  const std::int64_t columns = 85;
  const Transpose copy(1, 546315, columns);
  ASSERT_EQ(copy.tiles.variant.read_rank, 1);
  const kernels::tiled_axis &read = copy.tiles.tiling.read.axis[copy.tiles.variant.rank - 1],
                            &write = copy.tiles.tiling.write.axis[copy.tiles.variant.rank - 1];
  EXPECT_GE(write.before, kernels::tile_sector);
  EXPECT_EQ(read.before, write.before * columns);
  EXPECT_EQ(read.step, write.step * columns);
  EXPECT_EQ(write.step + write.before, write.size.constant);
}

TEST(cuda_tiles, parts_of_rows_of_several_axes_overlap) {
  const std::int64_t a = 4, b = 14546, c = 953;  // of the input; the output has them reversed
  Case copy{{1 << 20, std::uint64_t{1} << 40}, {1, 1}, {a * b, a, 1, 1, c, b * c}};
  const Tiles tiles = tiles_of(copy.operands(), Shape({c, b, a}), multiprocessors).value();
  ASSERT_GT(tiles.tiling.row_axes, 1u);
  const kernels::tiled_axis& row = tiles.tiling.write.axis[tiles.variant.rank - 1];
  EXPECT_GE(row.before, kernels::tile_sector);
  EXPECT_EQ(row.before % a, 0u);
  EXPECT_EQ(row.step + row.before, row.size.constant);
}

TEST(cuda_tiles, tiles_of_short_rows_are_full) {
  for (const std::int64_t rows : {33, 36, 42, 45, 60}) {
    EXPECT_GE(Transpose(4, rows, 1160487).filled(), 0.7) << rows;
  }
}

/// Parts of sectors are read again where they are written.
TEST(cuda_tiles, short_rows_that_begin_at_no_sector_are_written_by_sectors) {
  for (const auto& [rows, size] : {std::pair(std::int64_t{54}, 4u), {51, 8u}, {46, 4u}}) {
    const std::int64_t a = rows, b = 1004, c = 300;  // of the input; the output has them reversed
    const auto item = static_cast<std::int64_t>(size);
    Case copy{{1 << 20, std::uint64_t{1} << 40},
              {size, size},
              {a * b * item, a * item, item, item, c * item, b * c * item}};
    const Tiles tiles = tiles_of(copy.operands(), Shape({c, b, a}), multiprocessors).value();
    const kernels::tiled_axis& row = tiles.tiling.write.axis[tiles.variant.rank - 1];
    EXPECT_TRUE(row.before > 0 || row.size.constant >= 2 * a) << rows;
  }
}

TEST(cuda_tiles, few_rows_of_small_elements_are_read_by_tiles) {
  for (const std::int64_t rows : {3, 5, 7, 12}) {
    EXPECT_NO_THROW(Transpose(1, rows, 20000000)) << rows;
    EXPECT_NO_THROW(Transpose(2, rows, 20000000)) << rows;
  }
}

TEST(cuda_tiles, large_tiles_of_bytes_and_halves_are_turned) {
  for (const std::uint32_t size : {1u, 2u}) {
    EXPECT_TRUE(Transpose(size, 147621, 476).tiles.variant.turned) << size;
    EXPECT_TRUE(Transpose(size, 8192, 8192).tiles.variant.turned) << size;
    EXPECT_FALSE(Transpose(size, 64, 64).tiles.variant.turned) << size << ", few elements";
    EXPECT_FALSE(Transpose(size, 3, 34288699).tiles.variant.turned) << size << ", short rows";
  }
  EXPECT_FALSE(Transpose(4, 8192, 8192).tiles.variant.turned);
}

/// Where runs begin at lines, a longer row of one order costs what it saves of the other.
TEST(cuda_tiles, turned_tiles_of_aligned_rows_have_a_line_in_both_orders) {
  const Tiles tiles = Transpose(1, 8192, 8192).tiles;
  const auto last = static_cast<std::size_t>(tiles.variant.rank) - 1;
  EXPECT_EQ(tiles.tiling.read.axis[last].size.constant, 128u);
  EXPECT_EQ(tiles.tiling.write.axis[last].size.constant, 128u);
}

/// The last part has as much as the others, not a rest.
TEST(cuda_tiles, parts_of_turned_rows_are_even) {
  for (const std::int64_t rows : {341, 470, 1001}) {
    const Tiles tiles = Transpose(1, rows, 500001).tiles;
    ASSERT_TRUE(tiles.variant.turned) << rows;
    const kernels::tiled_axis& row = tiles.tiling.write.axis[tiles.variant.rank - 1];
    ASSERT_GT(row.before, 0u) << rows;
    EXPECT_LT(row.parts.constant * row.step, rows + row.parts.constant * 16) << rows;
  }
}

/// Of x + y.T, whatever the extents are.
TEST(cuda_tiles, only_what_is_read_in_another_order_is_read_by_tiles) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {2419, 803, 4, 7}, {3000, 50, 5, 3}, {900, 400, 6, 5}, {7, 4, 803, 2419}, {4000, 31, 33}};
  for (const auto& extents : shapes) {
    for (const std::int64_t size : {1, 2, 4, 8}) {
      std::vector<std::int64_t> dense(extents.size()), reversed(extents.size());
      std::int64_t bytes = size;
      for (std::size_t d = extents.size(); d-- > 0; bytes *= extents[d]) dense[d] = bytes;
      bytes = size;
      for (std::size_t d = 0; d < extents.size(); bytes *= extents[d++]) reversed[d] = bytes;
      const auto item = static_cast<std::uint32_t>(size);
      Case sum{
          {1 << 20, std::uint64_t{1} << 40, std::uint64_t{1} << 42}, {item, item, item}, dense};
      sum.strides.insert(sum.strides.end(), dense.begin(), dense.end());
      sum.strides.insert(sum.strides.end(), reversed.begin(), reversed.end());
      const auto tiles = tiles_of(sum.operands(), Shape(extents), multiprocessors);
      ASSERT_TRUE(tiles) << size;
      EXPECT_EQ(tiles->variant.tiled, 2) << ::testing::PrintToString(extents) << " " << size;
    }
  }
}

/// The L2 cache looks for a line once for every warp that accesses it.
TEST(cuda_tiles, warps_access_several_sectors_of_long_rows_at_once) {
  for (const std::uint32_t size : {1u, 2u, 4u, 8u}) {
    for (const auto& [rows, columns] : {std::pair(5787, 10671), std::pair(28219, 3733)}) {
      const Transpose copy(size, rows, columns);
      const kernels::tiling& tiling = copy.tiles.tiling;
      const auto word = static_cast<std::uint32_t>(copy.tiles.variant.word);
      if (copy.tiles.variant.turned) {
        EXPECT_GE(tiling.turned.parts.constant * kernels::turned_part, 2 * kernels::tile_sector);
      } else {
        EXPECT_GE(std::max(word, size) << tiling.read.lanes_log2, 2 * kernels::tile_sector);
      }
      const std::uint32_t vector = static_cast<std::uint32_t>(copy.tiles.variant.width) * size;
      EXPECT_GE(vector << tiling.write.lanes_log2, 2 * kernels::tile_sector) << size;
    }
  }
}

}  // namespace
}  // namespace quarry::backend::cuda
