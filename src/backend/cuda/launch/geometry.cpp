// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include <quarry/base/error.hpp>
#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/grid.hpp"
#include "base/power_of_two.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t threads = 256;

/// The number of blocks along x for `n` elements, `block` in each.
unsigned grid(std::int64_t n, std::int64_t block) {
  const std::int64_t blocks = divide_up(n, block);
  require<LogicError>(blocks <= max_grid_x, [&] {
    return fmt::format("{} elements along one axis are more than a CUDA grid covers", n);
  });
  return static_cast<unsigned>(blocks);
}

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

constexpr std::int64_t unrolled = 4;  // loads in flight per thread of reduce

/// The threads of a block along x and y, how many of them share an output, and the number of blocks
/// that all outputs take.
struct Block {
  std::int64_t x, y, lanes, blocks;
};

/// Threads along the reduced axis: few enough that each has several batches of accesses, of heavy
/// accumulators more, as it takes time to combine what threads have found. Where there are many
/// rows as few as for four batches, but so many that they read runs of 8 accesses, or all of a row.
Block block_along(const ReduceShape& shape, int multiprocessors) {
  constexpr std::int64_t run = 8, batches = 4;
  const std::int64_t batch = shape.vector_width > 1 ? 4 : 8;
  const auto lanes_of = [&](std::int64_t accesses) {
    const std::int64_t lanes = shape.reduced / shape.vector_width / accesses;
    return static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(lanes, 1, threads))));
  };
  const std::int64_t fewest = lanes_of(batches * batch);
  const std::int64_t busy = std::int64_t{16} * multiprocessors * threads;
  const bool are_many = shape.kept >= busy / fewest;
  const std::int64_t accesses = shape.vector_width > 1 && !shape.is_light ? 16 : 8;
  const std::int64_t power =
      are_many ? std::max(fewest, std::min(lanes_of(batch), run)) : lanes_of(accesses);
  const std::int64_t y = std::min(threads / power, power_above(shape.kept, threads));
  const std::int64_t x = std::max(power, 32 / y);
  return {x, y, x, divide_up(shape.kept, y)};
}

/// Rows of few outputs: x is a multiple of their length. See kernels/reduce_body.cuh. If there are
/// so many that they keep the device busy, no more threads share one than that takes: their totals
/// cost more than loads of parts of lines.
Block block_of_short_rows(const ReduceShape& shape, int multiprocessors) {
  constexpr std::int64_t accesses = 4 * unrolled, warp = 32;
  const std::int64_t busy = std::int64_t{1024} * multiprocessors, many = 4 * busy;  // threads
  const std::int64_t row = shape.columns / shape.vector_width, rows = shape.kept / shape.columns;
  const std::int64_t enough = divide_up(shape.reduced, accesses);
  const std::int64_t vectors = shape.kept / shape.vector_width;
  std::int64_t wanted = enough;
  if (enough > 1 && vectors * enough < busy) wanted = std::max(divide_up(warp, row), enough);
  while (wanted > 1 && vectors * (wanted / 2) >= many) wanted = divide_up(wanted, 2);
  const std::int64_t lanes = std::min({wanted, shape.reduced, threads / row});
  const std::int64_t y = std::min(threads / (row * lanes), rows);
  const std::int64_t whole_warp = divide_up(warp, row * y);
  const std::int64_t all = std::max(lanes, whole_warp);
  return {row * all, y, all, divide_up(rows, y)};
}

/// As many threads share an output as keep the device busy. A block reads runs of 64 vectors, and
/// where that and the splits would be too few threads, shorter ones of 128 bytes.
Block block_across(const ReduceShape& shape, int multiprocessors) {
  constexpr std::int64_t run = 64, line = 128;
  const std::int64_t vectors = shape.kept / shape.vector_width;
  const std::int64_t busy = std::int64_t{2048} * multiprocessors;  // threads
  const bool are_few = vectors * (threads / run) * shape.most_splits < busy;
  const std::int64_t short_run = std::clamp<std::int64_t>(line / shape.vector_bytes, 16, run);
  const std::int64_t columns =
      vectors > 2 * run ? (are_few ? short_run : run) : power_above(vectors, 32);
  const std::int64_t wanted =
      power_above(std::min(divide_up(shape.reduced, unrolled), divide_up(busy, vectors)), threads);
  const std::int64_t y = std::min(threads / columns, wanted);
  const std::int64_t x = std::min(threads / y, power_above(vectors, threads));
  const std::int64_t lanes = std::max(y, 32 / x);
  return {x, lanes, lanes, divide_up(vectors, x)};
}

/// Tiles of rows that are read by whole sectors and written by whole lines.
Block block_of_tile(const ReduceShape& shape) {
  const std::int64_t row = shape.columns / shape.vector_width, rows = shape.kept / shape.columns;
  const std::int64_t x = power_above(row, shape.vector_width > 1 ? 8 : 16), y = threads / x;
  return {x, y, 1, divide_up(row, x) * divide_up(rows, y)};
}

Block block_of(const ReduceShape& shape, int multiprocessors) {
  if (shape.in_tiles) return block_of_tile(shape);
  if (shape.along_reduced) return block_along(shape, multiprocessors);
  const bool is_short = shape.columns / shape.vector_width < kernels::short_row;
  return is_short ? block_of_short_rows(shape, multiprocessors)
                  : block_across(shape, multiprocessors);
}

/// Whether so many blocks are few: with more of them, as many on each multiprocessor, all run at
/// once.
bool are_few(std::int64_t blocks, int multiprocessors) {
  constexpr std::int64_t evenly = 8, resident = 4;
  return blocks * evenly <= resident * multiprocessors;
}

/// How many parts the reduced elements are split into, so that few outputs keep the device busy
/// too. Where blocks are not few, they have so many waves that the last one matters little, or at
/// least two.
std::int64_t wanted_splits(std::int64_t blocks, std::int64_t most, int multiprocessors,
                           int resident) {
  constexpr std::int64_t waves = 6;
  const std::int64_t wave = std::int64_t{8} * multiprocessors;
  if (are_few(blocks, multiprocessors)) return std::int64_t{resident} * multiprocessors / blocks;
  const std::int64_t several = std::min(most, waves * wave / blocks);
  return std::max({several, blocks < wave ? 2 * wave / blocks : 1, std::int64_t{1}});
}

/// Into how many parts few elements along the reduced axes are split, 0 if they are not few. The
/// time is that of accesses one after another: threads have one, or those that are in flight
/// together. To combine what several blocks have found takes as long as two of these.
std::int64_t splits_of_few(std::int64_t steps, std::int64_t blocks, int multiprocessors) {
  if (steps <= 2 * unrolled) return 1;
  if (steps * blocks <= std::int64_t{2} * multiprocessors) return steps;
  const std::int64_t splits = divide_up(steps, unrolled);
  return splits * blocks <= std::int64_t{4} * multiprocessors ? splits : 0;
}

/// A block takes multiples of `step` elements, one for each access of its threads: many, as it
/// takes time to combine what they have found, but few to have half a wave.
void split(ReduceGeometry& g, const ReduceShape& shape, std::int64_t step, int multiprocessors) {
  const std::int64_t reduced = shape.reduced;
  const bool is_whole = shape.along_reduced && step == threads * shape.vector_width;
  const std::int64_t few = is_whole && shape.is_light
                               ? splits_of_few(divide_up(reduced, step), g.grid_x, multiprocessors)
                               : 0;
  const std::int64_t wanted =
      wanted_splits(g.grid_x, shape.most_splits, multiprocessors, shape.resident);
  const std::int64_t half = divide_up(std::int64_t{shape.resident} * multiprocessors, g.grid_x);
  const std::int64_t most = reduced / std::max<std::int64_t>(2 * unrolled * step, 64);
  const std::int64_t possible = std::max(reduced / (4 * unrolled * step), std::min(half, most));
  const std::int64_t splits =
      few > 0 ? few : std::clamp<std::int64_t>(std::min(wanted, possible), 1, max_grid_y);
  g.chunk = divide_up(divide_up(reduced, splits), step) * step;
  g.splits = divide_up(reduced, g.chunk);
  g.runs_at_once = few == 0 && g.splits > 1 && are_few(g.grid_x, multiprocessors);
}

}  // namespace

int along_argument(const ReduceOrder& order, VectorPlaces places) {
  if (order.tile_axis) return 4 + static_cast<int>(*order.tile_axis);
  if (order.folded) return -1;
  if (order.pieces) return 3;
  if (!order.along_reduced) return 0;
  if (places == VectorPlaces::run) return -3;
  return places == VectorPlaces::ragged ? -2 : places == VectorPlaces::shifted ? 2 : 1;
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

FinishGeometry finish_geometry(std::int64_t kept, std::int64_t splits) {
  constexpr std::int64_t least = 128, most = 512, partials = 4;  // threads; partials of each
  const std::int64_t y = power_above(divide_up(splits, partials), most);
  const std::int64_t x = std::max(least / y, std::int64_t{1});
  return {static_cast<unsigned>(std::min(divide_up(kept, x), max_grid_x)), static_cast<unsigned>(x),
          static_cast<unsigned>(y)};
}

bool can_finish(const ReduceGeometry& reduce, const FinishGeometry& finish, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 15;
  return reduce.block_x * reduce.block_y == threads && finish.block_y <= threads &&
         static_cast<std::size_t>(reduce.splits) * bytes <= most;
}

ReduceGeometry reduce_geometry(const ReduceShape& shape, int multiprocessors) {
  if (shape.in_pieces) {  // as if a piece were an element
    ReduceShape pieces = shape;
    pieces.in_pieces = false, pieces.vector_width = 1;
    pieces.reduced /= shape.vector_width;
    ReduceGeometry g = reduce_geometry(pieces, multiprocessors);
    g.chunk *= shape.vector_width;
    g.wide_index = needs_wide_index(shape.span, std::max(shape.kept, shape.reduced));
    return g;
  }
  const Block block = block_of(shape, multiprocessors);
  ReduceGeometry g{.grid_x = grid(block.blocks, 1),
                   .block_x = static_cast<unsigned>(block.x),
                   .block_y = static_cast<unsigned>(block.y),
                   .splits = 1,
                   .chunk = shape.reduced,
                   .wide_index = needs_wide_index(shape.span, std::max(shape.kept, shape.reduced))};
  const std::int64_t step = block.lanes * (shape.along_reduced ? shape.vector_width : 1);
  split(g, shape, step, multiprocessors);
  return g;
}

int resident_blocks(const ReduceShape& shape, int possible, std::uint64_t bytes,
                    int multiprocessors) {
  constexpr int most = 8;
  constexpr std::uint64_t enough = 1200;  // bytes of each thread
  const std::int64_t all = threads * most * multiprocessors;
  if (possible <= 0) return most / 2;
  if (possible < most) return possible;
  const bool has_enough = bytes >= enough * static_cast<std::uint64_t>(all);
  return shape.kept == 1 && has_enough ? most : most / 2;
}

FewGeometry few_geometry(const ReduceShape& shape, int groups) {
  const std::int64_t outputs = groups * (shape.in_pieces ? 1 : shape.vector_width);
  const Block block = shape.in_tiles
                          ? block_of_tile(shape)
                          : Block{threads, 1, 1, divide_up(shape.kept, threads * outputs)};
  return {.grid_x = grid(block.blocks, 1),
          .block_x = static_cast<unsigned>(block.x),
          .block_y = static_cast<unsigned>(block.y),
          .wide_index = needs_wide_index(shape.span, shape.kept + threads * outputs)};
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
  const std::int64_t blocks_of_each = shape.row_bytes > 0 ? 4 : 6;  // twice those that run at once
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
