// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include <quarry/base/error.hpp>
#include <quarry/kernels/params.hpp>

#include "base/power_of_two.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t threads = 256, max_grid_x = 2147483647, max_grid_y = 65535;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

std::int64_t power_above(std::int64_t n, std::int64_t limit) {
  return n >= limit ? limit
                    : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// The number of blocks along x for `n` elements, `block` in each.
unsigned grid(std::int64_t n, std::int64_t block) {
  const std::int64_t blocks = divide_up(n, block);
  require<LogicError>(blocks <= max_grid_x, [&] {
    return fmt::format("{} elements along one axis are more than a CUDA grid covers", n);
  });
  return static_cast<unsigned>(blocks);
}

/// Whether indices need 64 bits. In loops they exceed the size by up to one grid stride, < 2^28.
bool needs_wide_index(std::int64_t span, std::int64_t size) {
  constexpr std::int64_t limit = (std::int64_t{1} << 31) - (std::int64_t{1} << 28);
  return span >= limit || size >= limit;
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

/// The largest power of two, at most `width`, such that every row of the operand is aligned to
/// vectors of so many elements.
int aligned_width(const CallOperands& operands, std::size_t k, int width) {
  std::uint64_t places = operands.address(k);
  for (std::size_t d = 0; d + 1 < operands.rank(); ++d) {
    places |= static_cast<std::uint64_t>(operands.stride(k, d));
  }
  const std::uint32_t size = operands.itemsizes[k];
  while (width > 1 && !is_multiple(places, static_cast<std::uint64_t>(width) * size)) width /= 2;
  return width;
}

/// The elements of the widest access of operand k along the last axis, at most `width`; 1 if the
/// operand is not dense along it.
int dense_width(const CallOperands& operands, std::size_t k, int width) {
  const std::uint32_t size = operands.itemsizes[k];
  if (!is_power_of_two(size) || operands.last_stride(k) != size) return 1;
  return aligned_width(operands, k, std::min(width, static_cast<int>(std::max(16u / size, 1u))));
}

VectorAccess input_vectors(const CallOperands& operands, int width) {
  constexpr std::size_t most_inputs = 16;
  if (operands.all.size() - operands.outputs > most_inputs) return {};
  unsigned wide = 0;
  for (std::size_t k = operands.outputs; k < operands.all.size(); ++k) {
    if (operands.last_stride(k) == 0) continue;
    width = dense_width(operands, k, width);
    wide |= 1u << (k - operands.outputs);
  }
  if (width == 1) return {};
  return {width, static_cast<int>(wide)};
}

constexpr int widest = 16;

/// Rows per thread: enough loads in flight, and not more than fit the registers.
int most_rows(const StridedShape& shape) {
  int rows = shape.vector_width == 1 ? 8 : shape.vector_width == 2 ? 4 : 2;
  while (rows > 1 && rows * shape.vector_width * shape.operands > 64) rows /= 2;
  return rows;
}

/// Blocks of `by` threads with `each` rows per thread; the rest in blocks with one row per thread.
std::int64_t row_blocks(std::int64_t rows, std::int64_t by, std::int64_t each) {
  return rows / (by * each) + divide_up(rows % (by * each), by);
}

constexpr std::int64_t unrolled = 4;  // loads in flight per thread of reduce

/// Splits the reduced elements, so that few outputs keep the device busy too: into at most two
/// waves of blocks.
void split(ReduceGeometry& g, const ReduceShape& shape, int multiprocessors) {
  const std::int64_t wave = std::int64_t{8} * multiprocessors;
  const std::int64_t wanted = g.grid_x >= wave ? 1 : 2 * wave / g.grid_x;
  const std::int64_t step =
      shape.along_reduced ? std::int64_t{g.block_x} * shape.vector_width : g.block_y;
  const std::int64_t least = std::max<std::int64_t>(2 * unrolled * step, 64);
  const std::int64_t possible = shape.can_split ? shape.reduced / least : 1;
  const std::int64_t splits = std::clamp<std::int64_t>(std::min(wanted, possible), 1, max_grid_y);
  g.chunk = divide_up(divide_up(shape.reduced, splits), step) * step;
  g.splits = divide_up(shape.reduced, g.chunk);
}

struct Block {
  std::int64_t x, y;
};

/// Threads along the reduced axis: few enough that each has several loads in flight.
Block block_along(const ReduceShape& shape) {
  const std::int64_t accesses = shape.vector_width > 1 ? 4 : 8;
  const std::int64_t lanes = shape.reduced / shape.vector_width / accesses;
  const auto power = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(lanes, 1, threads))));
  const std::int64_t y = std::min(threads / power, power_above(shape.kept, threads));
  return {std::max(power, 32 / y), y};
}

Block block_across(const ReduceShape& shape) {
  const std::int64_t columns = shape.kept > 128 ? 64 : power_above(shape.kept, 32);
  const std::int64_t y =
      std::min(threads / columns, power_above(divide_up(shape.reduced, unrolled), threads));
  const std::int64_t x = std::min(threads / y, power_above(shape.kept, threads));
  return {x, std::max(y, 32 / x)};
}

}  // namespace

int vector_width(const CallOperands& operands) {
  std::uint32_t widest_item = 1;
  std::uint64_t unit = 16;  // largest power of two of elements to which every pointer is aligned
  for (std::size_t k = 0; k < operands.all.size(); ++k) {
    const std::uint32_t size = operands.itemsizes[k];
    if (!is_power_of_two(size)) return 1;
    widest_item = std::max(widest_item, size);
    while (unit > 1 && !is_multiple(operands.address(k), unit * size)) unit /= 2;
  }
  return static_cast<int>(std::min<std::uint64_t>(unit, std::max(16u / widest_item, 1u)));
}

VectorAccess map_vectors(const CallOperands& operands, std::int64_t columns) {
  int width = widest;
  for (std::size_t k = 0; k < operands.outputs; ++k) width = dense_width(operands, k, width);
  while (width > 1 && columns % width != 0) width /= 2;
  return input_vectors(operands, width);
}

VectorAccess reduce_vectors(const CallOperands& operands) {
  const VectorAccess access = input_vectors(operands, widest);
  return access.wide == 0 ? VectorAccess{} : access;
}

unsigned flat_grid(std::int64_t size, int vector_width) {
  return grid(size, std::int64_t{flat_threads} * vector_width);
}

std::int64_t lead_of(const CallOperands& operands, std::int64_t columns) {
  const std::uint32_t size = operands.itemsizes[0];
  const bool is_dense = operands.last_stride(0) == size;
  if (!is_dense || !is_power_of_two(size) || size > 16 || columns < kernels::lead_columns) {
    return 0;
  }
  return static_cast<std::int64_t>(operands.address(0) % 128 / size);
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
    return shape.rows >= n * by && blocks >= std::int64_t{8} * multiprocessors;
  };
  if (rows > 4 && !fills(rows)) rows = 4;
  if (!fills(rows)) rows = 1;
  return {.grid_x = grid_x,
          .grid_y = static_cast<unsigned>(std::min(row_blocks(shape.rows, by, rows), max_grid_y)),
          .block_x = static_cast<unsigned>(bx),
          .block_y = static_cast<unsigned>(by),
          .rows_a_thread = static_cast<int>(rows),
          .wide_index = needs_wide_index(shape.span, std::max(shape.columns, shape.rows))};
}

ReduceGeometry reduce_geometry(const ReduceShape& shape, int multiprocessors) {
  const Block block = shape.along_reduced ? block_along(shape) : block_across(shape);
  ReduceGeometry g{.grid_x = grid(shape.kept, shape.along_reduced ? block.y : block.x),
                   .block_x = static_cast<unsigned>(block.x),
                   .block_y = static_cast<unsigned>(block.y),
                   .splits = 1,
                   .chunk = shape.reduced,
                   .wide_index = needs_wide_index(shape.span, std::max(shape.kept, shape.reduced))};
  split(g, shape, multiprocessors);
  return g;
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
