// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/geometry.hpp"
#include "backend/cuda/launch/grid.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t threads = 256;
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
  const std::int64_t accesses = shape.vector_width > 1 && !shape.has_light_accumulators() ? 16 : 8;
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

/// What a reduction costs whose `blocks` blocks are split into so many parts, in bytes read: those
/// of its elements, longer where the last wave is not full, of the partial results that are written
/// and read again, and what a multiprocessor could read while a block begins and ends.
double cost_of_splits(const ReduceShape& shape, std::int64_t splits, double blocks, double resident,
                      int multiprocessors) {
  constexpr double begin = 48 << 10;
  const auto kept = static_cast<double>(shape.kept), parts = static_cast<double>(splits);
  const double bytes = kept * static_cast<double>(shape.reduced) *
                       static_cast<double>(shape.vector_bytes) / shape.vector_width;
  const double partial = kept * parts * 2 * static_cast<double>(shape.accumulator_bytes);
  const double waves = parts * blocks / resident, whole = std::ceil(waves);
  const double longer = waves < 1 ? 1 / std::cbrt(waves) : whole / waves;
  return bytes * longer + partial + begin * multiprocessors * whole;
}

/// How many parts the reduced elements are split into, so that few outputs keep the device busy
/// too. Where blocks are not few, they have so many waves that the last one matters little, or as
/// many parts as cost least.
std::int64_t wanted_splits(const ReduceShape& shape, std::int64_t blocks, int multiprocessors) {
  constexpr std::int64_t waves = 6;
  const std::int64_t wave = std::int64_t{8} * multiprocessors,
                     resident = std::int64_t{shape.resident} * multiprocessors;
  if (are_few(blocks, multiprocessors)) return resident / blocks;
  const std::int64_t several = std::min(shape.most_splits, waves * wave / blocks),
                     most = std::max(
                         {several, blocks < wave ? 2 * wave / blocks : 1, std::int64_t{1}});
  std::int64_t best = most;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    const double cost = cost_of_splits(shape, splits, static_cast<double>(blocks),
                                       static_cast<double>(resident), multiprocessors);
    if (cost < least) least = cost, best = splits;
  }
  return best;
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
  const std::int64_t few = is_whole && shape.has_light_accumulators()
                               ? splits_of_few(divide_up(reduced, step), g.grid_x, multiprocessors)
                               : 0;
  const std::int64_t wanted = wanted_splits(shape, g.grid_x, multiprocessors);
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
  if (order.folded) return places == VectorPlaces::unaligned ? -5 : -1;
  if (order.pieces) return 3;
  if (!order.along_reduced) return places == VectorPlaces::unaligned ? -4 : 0;
  if (places == VectorPlaces::run) return -3;
  return places == VectorPlaces::ragged ? -2 : places == VectorPlaces::shifted ? 2 : 1;
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

int resident_blocks(const ReduceShape& shape, bool runs_at_once, int possible, std::uint64_t bytes,
                    int multiprocessors) {
  constexpr int most = 8;
  constexpr std::uint64_t enough = 1200;  // bytes of each thread
  const std::int64_t all = threads * most * multiprocessors;
  if (possible <= 0) return most / 2;
  if (possible < most || !runs_at_once) return std::min(possible, most);
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

}  // namespace quarry::backend::cuda
