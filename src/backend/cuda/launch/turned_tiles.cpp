// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/turned_tiles.hpp"

#include <algorithm>
#include <limits>

#include "backend/cuda/launch/grid.hpp"

namespace quarry::backend::cuda {
namespace {

/// The axis along which rows that are written are cut, and how many positions of each part the part
/// before it has, too.
struct CutRows {
  std::size_t axis;
  std::int64_t before;
};
CutRows cut_rows(const Cut& cut, const CallOperands& operands, const Shape& shape) {
  const Run write = run_of(cut, operands, shape, writing_order(shape.size()), 0);
  return {write.last, write.at_sectors() ? 0 : overlap_of(write, cut, shape)};
}

/// Makes the parts of the rows that are written even, with what they have of the ones before them.
void even_rows(Cut& cut, const CallOperands& operands, const Shape& shape) {
  const CutRows rows = cut_rows(cut, operands, shape);
  if (rows.before == 0) return;
  std::int64_t& size = cut.size[rows.axis];
  const std::int64_t extent = shape[rows.axis], parts = divide_up(extent, size - rows.before);
  size = std::min(size, divide_up(divide_up(extent, parts), std::int64_t{16}) * 16 + rows.before);
}

/// The cost of a copy by such tiles, for each line's worth of elements: the accesses to lines, what
/// a tile takes whatever its size, and half as much again of what it has that others have, or none.
double turned_cost(const Cut& cut, const CallOperands& operands, const Shape& shape,
                   const TiledInputs& tiled) {
  constexpr double of_tile = 40;  // accesses
  constexpr LineCosts costs{.ends = 3, .know_lines = true};
  const CutRows rows = cut_rows(cut, operands, shape);
  double computed = 1;  // elements of tiles for each element
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t step = cut.size[axis] - (axis == rows.axis ? rows.before : 0);
    computed *= static_cast<double>(divide_up(shape[axis], step) * cut.size[axis]) /
                static_cast<double>(shape[axis]);
  }
  const auto bytes = static_cast<double>(elements_of(cut, shape) * tiled.widest);
  const double accesses = accesses_of(cut, operands, shape, tiled, costs);
  return (accesses + of_tile * line_bytes / bytes) * (1 + computed) / 2;
}

}  // namespace

Cut turned_cut_of(const CallOperands& operands, const Shape& shape, const TiledInputs& tiled) {
  Cut best{};
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t bytes : {16384, 24576}) {  // what is left is for incomplete words
    const std::int64_t most = bytes / tiled.widest;
    for (const std::int64_t length : {64, 96, 128, 160, 192, 256}) {
      Cut cut = cut_into(shape, tiled, length, most / length);
      even_rows(cut, operands, shape);
      const double cost = turned_cost(cut, operands, shape, tiled);
      if (cost < least) least = cost, best = cut;
    }
  }
  count_parts(best, shape, tiled.order);
  return best;
}

std::optional<kernels::turned_tile> turned_tile_of(const CallOperands& operands, const Shape& shape,
                                                   const TiledInputs& tiled, const Cut& cut,
                                                   const Axis& row, std::uint32_t width) {
  const std::uint32_t size = operands.itemsizes[tiled.leader], vector = width * size;
  if (vector != 8 && vector != 16) return std::nullopt;
  std::int64_t run = 1, dense = size;
  bool is_in_row = false;
  for (std::size_t i = 0; i < tiled.order.rank; ++i) {
    const std::size_t axis = tiled.order.fastest(i);
    if (cut.size[axis] == 1) continue;
    if (axis >= row.outer) {
      is_in_row = true;
      continue;
    }
    if (is_in_row || operands.stride(tiled.leader, axis) != dense) return std::nullopt;
    run *= cut.size[axis];
    dense *= cut.size[axis] == shape[axis] ? shape[axis] : 0;
  }
  constexpr std::int64_t of_part = kernels::turned_part, of_group = kernels::turned_runs;
  const std::int64_t groups = divide_up(row.size, of_group), runs = groups * of_group,
                     parts = divide_up(run * size, of_part), bytes = parts * of_part;
  if (runs > kernels::most_turned_runs) return std::nullopt;
  if (3 * runs > 4 * row.size || 3 * bytes > 4 * run * size) return std::nullopt;
  const std::int64_t between = kernels::turned_front + parts * kernels::turned_skew,
                     behind = 2 * of_part;  // of a vector that begins in the last row
  if (bytes * runs + between + behind > kernels::turned_bytes) return std::nullopt;
  return kernels::turned_tile{.parts = kernels::divisor::by(static_cast<std::uint32_t>(parts)),
                              .groups = static_cast<std::uint32_t>(groups),
                              .pitch = static_cast<std::uint32_t>(runs * size / 4)};
}

}  // namespace quarry::backend::cuda
