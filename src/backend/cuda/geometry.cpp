// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include <quarry/base/error.hpp>

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t threads = 256, max_grid_x = 2147483647, max_grid_y = 65535;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

std::int64_t power_above(std::int64_t n, std::int64_t limit) {
  return n >= limit ? limit
                    : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// Blocks along x to cover `n` of which each takes `block`.
unsigned grid(std::int64_t n, std::int64_t block) {
  const std::int64_t blocks = divide_up(n, block);
  require<LogicError>(blocks <= max_grid_x, [&] {
    return fmt::format("{} elements along one axis are more than a CUDA grid covers", n);
  });
  return static_cast<unsigned>(blocks);
}

bool needs_wide_index(std::int64_t span, std::int64_t size) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  return span >= limit || size >= limit;
}

/// The widest block of columns that leaves at most an eighth of the threads idle, else the least
/// idle one.
std::int64_t column_block(std::int64_t columns) {
  if (columns < 32) return power_above(columns, 32);
  std::int64_t best = 32;
  for (const std::int64_t block : {64, 128}) {
    const auto covered = divide_up(columns, block) * block;
    const auto least = divide_up(columns, best) * best;
    if (covered <= least || covered - columns <= columns / 8) best = block;
  }
  return best;
}

/// How the reduced elements are cut so that the device is busy although there are few outputs.
void split(ReduceGeometry& g, const ReduceShape& shape, int multiprocessors) {
  const std::int64_t wanted = divide_up(std::int64_t{4} * multiprocessors, g.grid_x);
  const std::int64_t least =
      shape.along_reduced ? 4 * threads : std::max<std::int64_t>(64, 4 * g.block_y);
  const std::int64_t possible = shape.can_split ? shape.reduced / least : 1;
  const std::int64_t splits = std::clamp<std::int64_t>(std::min(wanted, possible), 1, max_grid_y);
  g.chunk = divide_up(shape.reduced, splits);
  g.splits = divide_up(shape.reduced, g.chunk);
}

}  // namespace

int vector_width(std::span<const std::uint64_t> pointers, const std::uint32_t* itemsizes) {
  std::uint32_t widest = 1;
  std::uint64_t unit = 16;  // largest power of two of elements to which every pointer is aligned
  for (std::size_t k = 0; k < pointers.size(); ++k) {
    const std::uint32_t size = itemsizes[k];
    if (!std::has_single_bit(size)) return 1;
    widest = std::max(widest, size);
    while (unit > 1 && pointers[k] % (unit * size) != 0) unit /= 2;
  }
  return static_cast<int>(std::min<std::uint64_t>(unit, std::max(16u / widest, 1u)));
}

FlatGeometry flat_geometry(std::int64_t size, int vector_width) {
  return {grid(size, std::int64_t{flat_threads} * vector_width)};
}

StridedGeometry strided_geometry(std::int64_t columns, std::int64_t rows, std::int64_t span,
                                 int multiprocessors) {
  std::int64_t bx = column_block(columns);
  const std::int64_t by = std::min(threads / bx, power_above(rows, threads));
  if (by < threads / bx) bx = power_above(columns, threads / by);
  const unsigned grid_x = grid(columns, bx);
  const std::int64_t blocks_of_four = divide_up(rows, 4 * by) * grid_x;
  const bool four = rows >= 4 * by && blocks_of_four >= std::int64_t{8} * multiprocessors;
  const std::int64_t grid_y = divide_up(rows, by * (four ? 4 : 1));
  return {.grid_x = grid_x,
          .grid_y = static_cast<unsigned>(std::min(grid_y, max_grid_y)),
          .block_x = static_cast<unsigned>(bx),
          .block_y = static_cast<unsigned>(by),
          .rows_a_thread = four ? 4 : 1,
          .wide_index = needs_wide_index(span, std::max(columns, rows))};
}

ReduceGeometry reduce_geometry(const ReduceShape& shape, int multiprocessors) {
  std::int64_t bx, by;
  if (shape.along_reduced) {
    bx = power_above(shape.reduced, threads);
    by = std::min(threads / bx, power_above(shape.kept, threads));
  } else {
    by = power_above(divide_up(shape.reduced, 4), threads / power_above(shape.kept, 32));
    bx = power_above(shape.kept, threads / by);
  }
  ReduceGeometry g{.grid_x = grid(shape.kept, shape.along_reduced ? by : bx),
                   .block_x = static_cast<unsigned>(bx),
                   .block_y = static_cast<unsigned>(by),
                   .splits = 1,
                   .chunk = shape.reduced,
                   .wide_index = needs_wide_index(shape.span, std::max(shape.kept, shape.reduced))};
  split(g, shape, multiprocessors);
  return g;
}

}  // namespace quarry::backend::cuda
