// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/launch/geometry.hpp"

/// Which inputs of a map are read by tiles, and how large these are: pure functions of the numbers
/// of a call.
namespace quarry::backend::cuda {

inline constexpr std::size_t most_axes = kernels::most_tiled_axes;

/// Up to most_axes values, one for each axis.
template <class T>
using PerAxis = std::array<T, most_axes>;

/// Axes, the last one varies fastest.
struct Order {
  PerAxis<std::size_t> axis{};
  std::size_t rank = 0;

  std::size_t fastest(std::size_t i) const { return axis[rank - 1 - i]; }
};

Order writing_order(std::size_t rank);

/// The inputs that are read by tiles: bit k for input k. They have one order of reading.
struct TiledInputs {
  unsigned set = 0;
  std::uint32_t count = 0;
  std::size_t leader = 0;               ///< an operand
  std::uint32_t widest = 1, bytes = 0;  ///< of an element of one, and of all
  Order order;

  /// Whether elements are words or more: those of less are limited by other things.
  bool are_words() const { return widest > 2; }
  bool has(std::size_t input) const { return input < 32 && (set >> input & 1u) != 0; }
};
TiledInputs tiled_inputs(const CallOperands& operands, const Shape& shape);

/// A full tile for each multiprocessor or more: with less, to look for a better plan takes longer
/// than the kernel gains by it.
bool is_large(const Shape& shape, const TiledInputs& tiled, int multiprocessors);

/// How many elements tiles have along every axis, and how many parts that gives.
struct Cut {
  PerAxis<std::int64_t> size, parts, every;
  PerAxis<std::int64_t> before;  ///< positions that the part before has too
  std::int64_t count = 1;
};
Cut cut_of(const CallOperands& operands, const Shape& shape, const TiledInputs& tiled,
           int multiprocessors, bool is_large);
/// Tiles with about `write` consecutive elements in the order of writing, `read` in the other one.
Cut cut_into(const Shape& shape, const TiledInputs& tiled, std::int64_t write, std::int64_t read);
/// Counts the parts from sizes and `before`. Tiles next to each other in the order of `reading`
/// follow each other, then those in the order of writing: what both have of a sector is in the
/// cache then. `count` is beyond 2^31 where the grid would be too large.
void count_parts(Cut& cut, const Shape& shape, const Order& reading);
std::int64_t elements_of(const Cut& cut, const Shape& shape);  ///< of a tile

/// Consecutive bytes of an operand that a tile has.
struct Run {
  std::int64_t bytes;
  std::uint32_t unit;    ///< all of them begin at multiples of it, a power of two up to a line
  std::size_t last = 0;  ///< the outermost axis along which they are

  bool at_sectors() const { return unit >= kernels::tile_sector; }
};
/// Those of operand k in this order of its axes.
Run run_of(const Cut& cut, const CallOperands& operands, const Shape& shape, const Order& order,
           std::size_t k);

/// How many positions of a part along run.last the next part has to have, too, so that it has all
/// of a sector that goes beyond this part. 0 where the axis is not cut, and where that would be
/// more than a quarter of a part.
std::int64_t overlap_of(const Run& run, const Cut& cut, const Shape& shape);
/// Makes parts along `axis` have `before` positions of the ones before them, too.
void overlap(Cut& cut, const Shape& shape, const Order& reading, std::size_t axis,
             std::int64_t before);

inline constexpr double line_bytes = 128;  ///< of the L2 cache
/// The lines that so many bytes have something of, which begin at any multiple of `unit`.
constexpr double lines_of(std::int64_t bytes, std::uint32_t unit) {
  return (static_cast<double>(bytes) + line_bytes - unit) / line_bytes;
}

/// What a tile costs in accesses to lines.
struct LineCosts {
  double ends = 2;          ///< of a row that begins and ends within sectors
  bool know_lines = false;  ///< that runs begin at lines, not just at sectors
};
/// How often the L2 cache looks for a line for all operands, for each line's worth of elements. It
/// is what limits copies of bytes and halves.
double accesses_of(const Cut& cut, const CallOperands& operands, const Shape& shape,
                   const TiledInputs& tiled, const LineCosts& costs);

/// An axis of one order, after merging.
struct Axis {
  std::size_t inner, outer;  ///< of the axes merged: strides are of the first, parts of the last
  std::int64_t extent, size;
  std::int64_t step = size;  ///< from part to part
  std::int64_t stride = 1;   ///< in elements of the first: of rows of one part, the next axis
};
struct Axes {
  PerAxis<Axis> axis{};  ///< the first one varies fastest; those that tiles have come first
  std::size_t count = 0, in_tile = 0;
};

/// Merges the axes along which tiles have whole extents with the next ones, where `is_chained`.
template <class IsChained>
Axes axes_of(const Cut& cut, const Shape& shape, const Order& order, const IsChained& is_chained) {
  PerAxis<Axis> merged{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < order.rank; ++i) {
    const std::size_t next = order.fastest(i);
    if (count > 0) {
      Axis& last = merged[count - 1];
      if (last.size == last.extent && is_chained(last, next)) {
        last = {last.inner, next, last.extent * shape[next], last.size * cut.size[next],
                last.step * cut.size[next]};
        continue;
      }
    }
    merged[count++] = {next, next, shape[next], cut.size[next]};
  }
  Axes axes;
  for (const bool in_tile : {true, false}) {
    for (std::size_t i = 0; i < count; ++i) {
      if ((merged[i].size > 1) == in_tile) axes.axis[axes.count++] = merged[i];
    }
    if (in_tile) axes.in_tile = axes.count;
  }
  return axes;
}

}  // namespace quarry::backend::cuda
