// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/row_geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include <quarry/base/error.hpp>

#include "backend/cuda/launch/grid.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::int64_t most_threads = 512, threads = 256, warp = 32;
constexpr std::int64_t kept_bytes = 128;  // that a thread keeps in registers

/// The lanes of a row, and how many rows or vectors of rows a block has.
struct Block {
  std::int64_t lanes, rows;
  bool keeps_rows;  ///< in registers
};

/// At least a warp a row that has as many accesses: consecutive threads read consecutive elements.
Block block_along(std::int64_t accesses, std::int64_t most, std::int64_t rows) {
  const std::int64_t needed = divide_up(accesses, most);
  const std::int64_t lanes =
      std::max(power_above(needed, most_threads), power_above(accesses, warp));
  const std::int64_t together =
      std::min(std::max<std::int64_t>(threads / lanes, 1), power_above(rows, threads));
  return {lanes, std::max(together, warp / lanes), needed <= most_threads};
}

/// Fewer vectors side by side, down to those of some 128 bytes, if longer rows are kept then.
Block block_across(std::int64_t accesses, std::int64_t most, std::int64_t vectors,
                   std::int64_t least) {
  const std::int64_t needed = divide_up(accesses, most);
  std::int64_t rows = power_above(vectors, warp);
  while (rows > least && needed > most_threads / rows) rows /= 2;
  const bool keeps_rows = needed <= most_threads / rows;
  std::int64_t lanes = keeps_rows ? power_above(needed, most_threads / rows) : most_threads / rows;
  if (keeps_rows) rows = std::max(rows, std::min(threads / lanes, power_above(vectors, threads)));
  lanes = std::max(lanes, warp / rows);
  return {lanes, rows, keeps_rows};
}

Block block_of(const RowShape& shape) {
  const std::int64_t width = shape.vector_width, size = std::max(shape.itemsize, 4u);
  const std::int64_t most = std::max<std::int64_t>(kept_bytes / (width * size), 1);
  if (shape.along_reduced) return block_along(shape.elements / width, most, shape.rows);
  const std::int64_t least = std::clamp<std::int64_t>(128 / (width * shape.itemsize), 1, warp);
  return block_across(shape.elements, most, shape.rows / width, least);
}

/// So that few rows keep the device busy too. Every block reads the partial results of its rows.
void split(RowGeometry& g, const RowShape& shape, std::int64_t step, int multiprocessors) {
  const std::int64_t wave = std::int64_t{4} * multiprocessors;
  const std::int64_t wanted = g.grid_x >= wave / 2 ? 1 : wave / g.grid_x;
  const std::int64_t possible = std::max<std::int64_t>(shape.elements / (8 * step), 1);
  const std::int64_t splits = std::min({wanted, possible, max_grid_y});
  g.chunk = divide_up(divide_up(shape.elements, splits), step) * step;
  g.splits = divide_up(shape.elements, g.chunk);
}

}  // namespace

VectorAccess row_program_vectors(const CallOperands& operands, std::size_t kept_rank,
                                 bool along_reduced, std::int64_t extent) {
  // the output has to be as dense and aligned as an input
  const CallOperands all(operands.all, operands.itemsizes, 0);
  constexpr std::size_t no_shifted_rows = 2;
  VectorAccess access = along_reduced ? row_vectors(all, no_shifted_rows, extent)
                                      : column_vectors(all, kept_rank - 1, extent);
  if ((access.wide & 1) == 0) return {};
  access.wide >>= 1;
  return access;
}

RowGeometry row_geometry(const RowShape& shape, int multiprocessors) {
  const Block block = block_of(shape);
  const std::int64_t width = shape.along_reduced ? shape.vector_width : 1;
  const std::int64_t outputs = block.rows * (shape.along_reduced ? 1 : shape.vector_width);
  const std::int64_t blocks = divide_up(shape.rows, outputs), accesses = shape.elements / width;
  require<LogicError>(blocks <= max_grid_x, [&] {
    return fmt::format("{} rows are more than a CUDA grid covers", shape.rows);
  });
  const bool along = shape.along_reduced;
  RowGeometry g{.grid_x = static_cast<unsigned>(blocks),
                .block_x = static_cast<unsigned>(along ? block.lanes : block.rows),
                .block_y = static_cast<unsigned>(along ? block.rows : block.lanes),
                .count = block.keeps_rows ? static_cast<int>(divide_up(accesses, block.lanes)) : 0,
                .splits = 1,
                .chunk = shape.elements,
                .wide_index = needs_wide_index(shape.span, std::max(shape.rows, shape.elements))};
  if (g.count == 0) split(g, shape, block.lanes * width, multiprocessors);
  return g;
}

}  // namespace quarry::backend::cuda
