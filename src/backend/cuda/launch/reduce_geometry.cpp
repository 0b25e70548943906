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

/// Into how many parts at most: a block takes multiples of `step` elements, one for each access of
/// its threads, many, as it takes time to combine what they have found, but few to have half a
/// wave.
std::int64_t possible_splits(const ReduceShape& shape, std::int64_t blocks, std::int64_t step,
                             int multiprocessors) {
  const std::int64_t half = divide_up(std::int64_t{shape.resident} * multiprocessors, blocks);
  const std::int64_t most = shape.reduced / std::max<std::int64_t>(2 * unrolled * step, 64);
  const std::int64_t possible =
      std::max(shape.reduced / (4 * unrolled * step), std::min(half, most));
  return std::clamp<std::int64_t>(possible, 1, max_grid_y);
}

/// The threads of a block, and into how many parts the reduced elements are split.
struct Division {
  Block block;
  std::int64_t splits;
  bool runs_at_once = false;  ///< there are as many splits as keep the device busy
};

/// What a reduction costs whose threads are across, in bytes that a multiprocessor reads in that
/// time. A wave of blocks takes as long as it has loads in flight, one round of them after another:
/// what these have of the memory's rate, which is less where blocks read short runs, or the
/// latency. A second kernel combines partial results. The constants are of a fit: docs/tuning.md,
/// columns.
double cost_across(const ReduceShape& shape, const Division& by, int multiprocessors) {
  constexpr double begin = 82 << 10, latency = 54 << 10, finish = 108 << 10, partial = 12,
                   between_runs = 26;
  const Block& block = by.block;
  const std::int64_t splits = by.splits;
  const bool is_ahead = shape.vector_width == 8 && shape.vector_bytes == 8 &&
                        shape.has_light_accumulators();  // reduce_batches.cuh: is_ahead_in_columns
  const auto in_flight = static_cast<double>(shape.vector_width == 1 ? 8 * shape.vector_bytes
                                             : is_ahead              ? 128
                                                                     : 64);  // of a thread
  const auto vector = static_cast<double>(shape.vector_bytes);
  const double rounds = std::max(
      1., static_cast<double>(divide_up(shape.reduced, block.y * splits)) * vector / in_flight);
  const double round = static_cast<double>(block.x * block.y) * in_flight *
                       (1 + between_runs / (static_cast<double>(block.x) * vector));
  const auto wave = [&](std::int64_t blocks) {
    const double all = static_cast<double>(blocks) / multiprocessors * round;
    return begin + rounds * std::max(latency, all);
  };
  const std::int64_t blocks = block.blocks * splits,
                     resident = std::int64_t{shape.resident} * multiprocessors,
                     waves = blocks / resident;
  double cost = static_cast<double>(waves) * wave(resident);
  if (blocks % resident != 0) cost += wave(blocks % resident);
  if (splits == 1) return cost;
  const auto partials = static_cast<double>(shape.kept * splits * shape.accumulator_bytes);
  return cost + finish + partial * partials / multiprocessors;
}

/// The division that costs least, `usual` unless another one is clearly better: with runs of other
/// lengths blocks may be just as many as run at once.
Division cheapest_across(const ReduceShape& shape, const Division& usual, int multiprocessors) {
  constexpr double clearly = 0.97;
  constexpr std::int64_t waves = 4;
  const std::int64_t vectors = shape.kept / shape.vector_width,
                     resident = std::int64_t{shape.resident} * multiprocessors;
  Division best = usual;
  double least = clearly * cost_across(shape, usual, multiprocessors);
  for (const std::int64_t x : {16, 24, 32, 40, 48, 56, 64, 80, 96, 128}) {
    const std::int64_t y = threads / x;
    const Block block{x, y, y, divide_up(vectors, x)};
    const std::int64_t most = possible_splits(shape, block.blocks, y, multiprocessors);
    for (std::int64_t wave = 0, last = 0; wave <= waves && last < most; ++wave) {
      const std::int64_t splits = std::clamp<std::int64_t>(wave * resident / block.blocks, 1, most);
      if (splits == last) continue;
      last = splits;
      const Division division{block, splits};
      const double cost = cost_across(shape, division, multiprocessors);
      if (cost < least) least = cost, best = division;
    }
  }
  return best;
}

/// Whether several threads are across that share an output, of so many bytes and outputs that it is
/// worth to look for the best division.
bool has_several_divisions(const ReduceShape& shape, const Block& block, int multiprocessors) {
  constexpr std::int64_t enough = 1 << 23;
  if (shape.in_tiles || shape.in_pieces || shape.along_reduced || block.y == 1) return false;
  if (shape.columns / shape.vector_width < kernels::short_row) return false;
  return !are_few(block.blocks, multiprocessors) &&
         shape.kept / shape.vector_width * shape.reduced * shape.vector_bytes >= enough;
}

/// By blocks of these threads.
Division division_of(const ReduceShape& shape, const Block& block, std::int64_t step,
                     int multiprocessors) {
  const bool is_whole = shape.along_reduced && step == threads * shape.vector_width;
  if (is_whole && shape.has_light_accumulators()) {
    const std::int64_t few =
        splits_of_few(divide_up(shape.reduced, step), block.blocks, multiprocessors);
    if (few > 0) return {block, few};
  }
  const std::int64_t wanted = wanted_splits(shape, block.blocks, multiprocessors),
                     possible = possible_splits(shape, block.blocks, step, multiprocessors);
  const std::int64_t splits = std::clamp<std::int64_t>(wanted, 1, possible);
  return {block, splits, splits > 1 && are_few(block.blocks, multiprocessors)};
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
  constexpr std::int64_t least = 128, partials = 4;  // threads; partials of each
  // blocks of few threads find room beside those of the reduction, and the kernel behind begins
  const std::int64_t most = splits > 1024 ? 512 : least;
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

ReduceGeometry reduce_geometry(const ReduceShape& given, int multiprocessors) {
  const std::int64_t piece = given.in_pieces ? given.vector_width : 1;
  ReduceShape shape = given;  // as if a piece were an element
  if (given.in_pieces) shape.vector_width = 1, shape.reduced /= piece;
  const Block usual = block_of(shape, multiprocessors);
  const auto step_of = [&](const Block& block) {
    return block.lanes * (shape.along_reduced ? shape.vector_width : 1);
  };
  const bool has_choice = has_several_divisions(shape, usual, multiprocessors);
  Division by = division_of(shape, usual, step_of(usual), multiprocessors);
  if (has_choice) by = cheapest_across(shape, by, multiprocessors);
  const std::int64_t step = step_of(by.block),
                     chunk = divide_up(divide_up(shape.reduced, by.splits), step) * step;
  return {.grid_x = grid(by.block.blocks, 1),
          .block_x = static_cast<unsigned>(by.block.x),
          .block_y = static_cast<unsigned>(by.block.y),
          .splits = divide_up(shape.reduced, chunk),
          .chunk = chunk * piece,
          .wide_index = needs_wide_index(given.span, std::max(given.kept, given.reduced)),
          .runs_at_once = by.runs_at_once,
          .has_choice = has_choice};
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
