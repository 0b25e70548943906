// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <quarry/base/error.hpp>
#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/grid.hpp"
#include "base/power_of_two.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t threads = 256;

/// The largest number of columns per block that leaves at most an eighth of the threads idle, else
/// the one that leaves the fewest idle.
std::int64_t column_block(std::int64_t columns) {
  if (columns < 32) return power_above(columns, 32);
  std::int64_t best = 32;
  for (const std::int64_t block : {64, 128, 256}) {
    const auto covered = divide_up(columns, block) * block;
    const auto least = divide_up(columns, best) * best;
    if (covered <= least || covered - columns <= columns / 8) best = block;
  }
  return best;
}

/// Rows per thread: enough loads in flight, and not more than fit the registers.
int most_rows(const StridedShape& shape) {
  int rows = shape.vector_width == 1 ? 8 : shape.vector_width == 2 ? 4 : 2;
  while (rows > 1 && rows * shape.vector_width * shape.operands > 64) rows /= 2;
  return rows;
}

/// How often threads go on to further rows where there are `blocks` of them. What a thread finds
/// out once takes many instructions where there are many operands (of 10 operands about 23 of 172
/// an element), so there are no more blocks than keep the device evenly busy.
std::int64_t turns(const StridedShape& shape, std::int64_t blocks, int multiprocessors) {
  if (shape.operands < 5) return 1;
  return std::clamp<std::int64_t>(blocks / (std::int64_t{64} * multiprocessors), 1, 8);
}

/// Blocks of `by` threads with `each` rows per thread; the rest in blocks with one row per thread.
std::int64_t row_blocks(std::int64_t rows, std::int64_t by, std::int64_t each) {
  return rows / (by * each) + divide_up(rows % (by * each), by);
}

}  // namespace

unsigned grid(std::int64_t n, std::int64_t block) {
  const std::int64_t blocks = divide_up(n, block);
  require<LogicError>(blocks <= max_grid_x, [&] {
    return fmt::format("{} elements along one axis are more than a CUDA grid covers", n);
  });
  return static_cast<unsigned>(blocks);
}

unsigned flat_grid(std::int64_t size, int vector_width) {
  return grid(size / vector_width + size % vector_width, flat_threads);
}

std::int64_t lead_of(const CallOperands& operands, std::int64_t columns) {
  const std::uint32_t size = operands.itemsizes[0];
  const bool is_dense = operands.last_stride(0) == size;
  if (!is_dense || !is_power_of_two(size) || size > 16 || columns < kernels::lead_columns) {
    return 0;
  }
  return static_cast<std::int64_t>(operands.address(0) % 128 / size);
}

std::int64_t unaligned_lead(std::uint32_t itemsize, std::int64_t columns, int width) {
  const std::int64_t line = 128 / std::int64_t{itemsize};
  return (columns >= kernels::lead_columns ? line : std::int64_t{width}) - 1;
}

StridedGeometry strided_geometry(const StridedShape& shape, int multiprocessors) {
  const std::int64_t vectors = divide_up(shape.columns + shape.lead, shape.vector_width);
  std::int64_t bx = column_block(vectors);
  const std::int64_t by = std::min(threads / bx, power_above(shape.rows, threads));
  if (by < threads / bx) bx = power_above(vectors, threads / by);
  const unsigned grid_x = grid(vectors, bx);
  std::int64_t rows = most_rows(shape);
  const auto fills = [&](std::int64_t n) {
    const std::int64_t blocks = divide_up(shape.rows, n * by) * grid_x;
    const std::int64_t again = shape.rows % (n * by) * (n - 1);  // how often the last rows are read
    return shape.rows >= n * by && blocks >= std::int64_t{8} * multiprocessors &&
           again <= shape.rows;
  };
  if (rows > 4 && !fills(rows)) rows = 4;
  if (!fills(rows)) rows = 1;
  const std::int64_t blocks = row_blocks(shape.rows, by, rows);
  const std::int64_t grid_y = divide_up(blocks, turns(shape, blocks * grid_x, multiprocessors));
  return {.grid_x = grid_x,
          .grid_y = static_cast<unsigned>(std::min(grid_y, max_grid_y)),
          .block_x = static_cast<unsigned>(bx),
          .block_y = static_cast<unsigned>(by),
          .rows_a_thread = static_cast<int>(rows),
          .wide_index = needs_wide_index(shape.span, std::max(shape.columns, shape.rows))};
}

bool repeats_rows(const CallOperands& operands, const Shape& shape, std::int64_t columns,
                  std::int64_t cache) {
  const std::size_t last = shape.size() - 1;
  const auto repeats = [&](std::size_t k) {
    const std::int64_t size = operands.itemsizes[k];
    std::int64_t between = size * shape[last], rows = 1;
    for (std::size_t d = last; d-- > 0; rows *= shape[d]) {
      const bool is_repeated = operands.stride(k, d) == 0 && shape[d] > 1;
      if (is_repeated) return between > cache / 4 && 2 * rows * columns * size <= cache / 4;
      between *= shape[d];
    }
    return false;
  };
  for (std::size_t k = operands.outputs; k < operands.all.size(); ++k) {
    if (operands.stride(k, last) != 0 && !operands.is_side(k) && repeats(k)) return true;
  }
  return false;
}

AcrossGeometry across_geometry(std::int64_t size, std::int64_t span, int vector_width,
                               int vectors) {
  const std::int64_t of_block = std::int64_t{vector_width} * vectors * flat_threads;
  // positions go up to a vector behind the last one of a block
  return {.grid = grid(size, of_block), .wide_index = needs_wide_index(span, size + of_block)};
}

MaskedRowsGeometry masked_rows_geometry(std::int64_t rows, std::int64_t row_bytes,
                                        int multiprocessors) {
  constexpr std::int64_t group = 32, warps = flat_threads / 32;
  constexpr std::int64_t short_bytes = 64, most_bytes = std::int64_t{1} << 30;
  constexpr std::int64_t least_bytes = 4 * 32 * 16;  // of a warp: four vectors of each lane
  if (row_bytes < 32 || (row_bytes < short_bytes && rows * row_bytes < most_bytes)) {
    const std::int64_t vectors = rows * row_bytes / 16 + 2;
    return {grid(vectors, std::int64_t{flat_threads} * kernels::chosen_row_vectors), {0, 1}};
  }
  const std::int64_t resident = std::int64_t{64} * std::max(multiprocessors, 1);  // warps
  const std::int64_t groups = divide_up(rows, group);
  const std::int64_t of_warp = groups >= 4 * resident ? kernels::most_row_groups : 1;
  const std::int64_t shares = divide_up(groups, of_warp);
  const std::int64_t sharers = std::clamp<std::int64_t>(
      4 * resident / shares, 1, std::max<std::int64_t>(group * row_bytes / least_bytes, 1));
  return {grid(shares * sharers, warps),
          {static_cast<kernels::i32>(of_warp), static_cast<kernels::i32>(sharers)}};
}

SelectGeometry select_geometry(const SelectShape& shape, int multiprocessors) {
  constexpr std::int64_t row = 32, warps = kernels::select_threads / row;  // a row of words
  // twice those that run at once; where elements are packed, which takes all equally long, those
  const std::int64_t blocks_of_each = shape.row_bytes > 0      ? 4
                                      : shape.packed_size == 0 ? 6
                                                               : (shape.packed_size == 1 ? 3 : 2);
  const std::int64_t words = divide_up(shape.elements, 32);
  const std::int64_t most = std::max<std::int64_t>(multiprocessors, 1) * blocks_of_each;
  constexpr std::int64_t few_bytes = 1 << 16;
  const bool are_rows = shape.row_bytes > 0;
  const bool are_spread = are_rows && shape.elements * shape.row_bytes > few_bytes;
  const std::int64_t least = are_spread ? warps : kernels::select_words;  // words of a block
  const std::int64_t blocks = std::min(divide_up(words, least), most);
  const std::int64_t each = divide_up(words, blocks * warps);
  const std::int64_t step = blocks == 1 ? shape.vector_width
                            : !are_rows ? row
                                        : (each > row / 8 ? row / 2 : 1);
  const std::int64_t words_of_warp = divide_up(each, step) * step;
  return {grid(words, words_of_warp * warps), words_of_warp,
          needs_wide_index(shape.span, shape.elements)};
}

std::int64_t SelectGeometry::words() const {
  return blocks * words_of_warp * (kernels::select_threads / 32);
}

BincountGeometry bincount_geometry(const BincountShape& shape, int multiprocessors) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 31;  // of a block: counters of 32 bits
  const std::int64_t step = std::int64_t{bincount_threads} * shape.vector_width;
  const std::int64_t wave = std::max(std::int64_t{4} * multiprocessors, std::int64_t{1});
  const std::int64_t wanted = std::clamp<std::int64_t>(shape.elements / (4 * step), 1, wave);
  const std::int64_t blocks = std::max(wanted, divide_up(shape.elements, most_elements));
  const std::int64_t chunk = divide_up(divide_up(shape.elements, blocks), step) * step;
  // a block clears its counters and adds them to the output: that has to be worth it
  const bool is_private =
      shape.bins <= kernels::most_private_bins && std::min(chunk, shape.elements) / 4 >= shape.bins;
  return {grid(shape.elements, chunk), chunk, is_private};
}

}  // namespace quarry::backend::cuda
