// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "backend/cuda/launch/grid.hpp"
#include "base/power_of_two.hpp"

namespace quarry::backend::cuda {
namespace {

using kernels::most_tiled_axes;
constexpr std::size_t most_axes = most_tiled_axes;

/// Up to most_axes values, one for each axis.
template <class T>
using PerAxis = std::array<T, most_axes>;

/// Axes, the last one varies fastest.
struct Order {
  PerAxis<std::size_t> axis{};
  std::size_t rank = 0;

  std::size_t fastest(std::size_t i) const { return axis[rank - 1 - i]; }
};

Order writing_order(std::size_t rank) {
  Order order{.rank = rank};
  std::iota(order.axis.begin(), order.axis.end(), std::size_t{0});
  return order;
}

/// The axes by the strides of operand k, those along which it does not move first.
Order reading_order(const CallOperands& operands, std::size_t k) {
  Order order = writing_order(operands.rank());
  const auto distance = [&](std::size_t axis) { return std::abs(operands.stride(k, axis)); };
  std::stable_sort(order.axis.begin(), order.axis.begin() + std::ptrdiff_t(order.rank),
                   [&](std::size_t a, std::size_t b) {
                     if (distance(a) == 0 || distance(b) == 0) return distance(a) < distance(b);
                     return distance(a) > distance(b);
                   });
  return order;
}

/// Whether threads along the last axis would read input k in pieces of less than a sector, and no
/// other threads of the block read the rest of it.
bool needs_tiles(const CallOperands& operands, const Shape& shape, std::size_t k) {
  constexpr std::int64_t sector = 32, near = 40;
  const std::uint32_t size = operands.itemsizes[k];
  if (!is_power_of_two(size) || size > 16 || operands.last_stride(k) == 0) return false;
  const Order order = reading_order(operands, k);
  std::int64_t bytes = size;
  std::size_t axis = shape.size() - 1;
  for (; order.axis[axis] == axis; --axis) {
    bytes *= shape[axis];
    if (axis == 0 || bytes >= sector) return false;
  }
  std::int64_t apart = 1;  // elements of the output between those that are neighbours in the input
  for (std::size_t d = order.axis[axis] + 1; d < shape.size(); ++d) apart *= shape[d];
  return apart > near;
}

/// The inputs that are read by tiles: bit k for input k. They have one order of reading.
struct TiledInputs {
  unsigned set = 0;
  std::size_t leader = 0;               ///< an operand
  std::uint32_t widest = 1, bytes = 0;  ///< of an element of one, and of all
  Order order;

  bool has(std::size_t input) const { return input < 32 && (set >> input & 1u) != 0; }
};
TiledInputs tiled_inputs(const CallOperands& operands, const Shape& shape) {
  TiledInputs tiled;
  for (std::size_t k = 0; k < operands.outputs; ++k) {
    tiled.widest = std::max(tiled.widest, operands.itemsizes[k]);
  }
  if (!is_power_of_two(tiled.widest) || tiled.widest > 16) return {};
  const std::size_t end = std::min(operands.all.size(), operands.outputs + 16);
  for (std::size_t k = operands.outputs; k < end; ++k) {
    if (!needs_tiles(operands, shape, k)) continue;
    const Order order = reading_order(operands, k);
    if (tiled.set != 0 && order.axis != tiled.order.axis) continue;
    const std::uint32_t size = operands.itemsizes[k], widest = std::max(tiled.widest, size);
    const std::uint32_t bytes = tiled.bytes + size;
    if (bytes * kernels::most_tile_elements(widest) > kernels::most_tile_bytes) continue;
    if (tiled.set == 0) tiled.leader = k, tiled.order = order;
    tiled.set |= 1u << (k - operands.outputs);
    tiled.widest = widest;
    tiled.bytes = bytes;
  }
  return tiled;
}

/// How many elements tiles have along every axis, and how many parts that gives.
struct Cut {
  PerAxis<std::int64_t> size, parts, every;
  std::int64_t elements = 1, count = 1;
};

/// Multiples of 16, so that vectors lie in one part.
std::int64_t rounded(std::int64_t size) {
  if (size >= 16) return size / 16 * 16;
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
}

/// Makes tiles have `wanted` consecutive elements in this order.
void extend(Cut& cut, const Shape& shape, const Order& order, std::int64_t wanted) {
  std::int64_t run = 1;
  for (std::size_t i = 0; i < order.rank && run < wanted; ++i) {
    const std::size_t axis = order.fastest(i);
    const std::int64_t size = wanted / run;
    cut.size[axis] = std::max(cut.size[axis], size < shape[axis] ? rounded(size) : shape[axis]);
    run *= cut.size[axis];
    if (cut.size[axis] < shape[axis]) return;
  }
}

/// Makes tiles larger along axes that are cut, until they have up to `most` elements.
void grow(Cut& cut, const Shape& shape, std::int64_t most) {
  std::int64_t elements = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) elements *= cut.size[axis];
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t size = most / (elements / cut.size[axis]);
    if (size < 2 * cut.size[axis]) continue;
    elements /= cut.size[axis];
    cut.size[axis] = size < shape[axis] ? rounded(size) : shape[axis];
    elements *= cut.size[axis];
  }
}

/// Parts of one size as far as possible, in the order of writing.
void count_parts(Cut& cut, const Shape& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    std::int64_t& size = cut.size[axis];
    const std::int64_t least = divide_up(shape[axis], divide_up(shape[axis], size));
    if (size < shape[axis] && size % 16 == 0) size = divide_up(least, 16) * 16;
    cut.parts[axis] = divide_up(shape[axis], size);
    cut.every[axis] = cut.count;
    cut.elements *= size;
    if (cut.count > std::numeric_limits<std::int32_t>::max()) return;
    cut.count *= cut.parts[axis];
  }
}

Cut cut_of(const Shape& shape, const TiledInputs& tiled, int multiprocessors) {
  const auto most = static_cast<std::int64_t>(kernels::most_tile_elements(tiled.widest));
  std::int64_t write = tiled.widest <= 2 ? 128 : tiled.widest <= 8 ? 64 : 32, read = most / write;
  for (;;) {
    Cut cut{};
    cut.size.fill(1);
    extend(cut, shape, writing_order(shape.size()), write);
    extend(cut, shape, tiled.order, read);
    grow(cut, shape, write * read);
    count_parts(cut, shape);
    if (cut.count >= multiprocessors || write * read <= 512) return cut;
    (write > read ? write : read) /= 2;
  }
}

/// An axis of one order, after merging.
struct Axis {
  std::size_t inner, outer;  ///< of the axes merged: strides are of the first, parts of the last
  std::int64_t extent, size;
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
        last = {last.inner, next, last.extent * shape[next], last.size * cut.size[next]};
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

/// How many threads are along a row of `row` accesses, `bytes` each: all threads have work, those
/// along a row access `wanted` bytes of it, or at least a sector where that leaves fewer idle.
std::uint32_t lanes_of(std::uint32_t row, std::uint32_t rows, std::uint32_t bytes,
                       std::uint32_t wanted) {
  const std::uint32_t busy = std::bit_ceil((tile_threads + rows - 1) / rows);
  const std::uint32_t least = std::max({busy, 32 / bytes, 1u}), whole = std::bit_ceil(row);
  std::uint32_t best = std::min({std::max(least, wanted / bytes), whole, tile_threads});
  const auto covered = [row](std::uint32_t lanes) { return (row + lanes - 1) / lanes * lanes; };
  for (std::uint32_t lanes = best / 2; lanes >= least; lanes /= 2) {
    if (covered(best) - row <= row / 8) break;
    if (covered(lanes) < covered(best)) best = lanes;
  }
  return best;
}

/// From a call to the parameters of the kernel.
class Planner {
 public:
  Planner(const CallOperands& operands, const Shape& shape, const TiledInputs& tiled,
          int multiprocessors)
      : operands_(operands),
        shape_(shape),
        tiled_(tiled),
        cut_(cut_of(shape, tiled, multiprocessors)) {}

  std::optional<Tiles> plan() {
    if (cut_.count > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    const Axes read = merged(tiled_.order, true),
               write = merged(writing_order(shape_.size()), false);
    const std::size_t in_tile = std::max(read.in_tile, write.in_tile);
    const std::size_t rank = std::max({read.count, write.count, in_tile});
    Tiles tiles{.variant = {.rank = int(rank), .tile_rank = int(in_tile), .tiled = int(tiled_.set)},
                .tiling = {},
                .shape = Shape::filled(rank, 1),
                .operands = SmallArray<Operand>(operands_.all.size()),
                .count = static_cast<unsigned>(cut_.count)};
    for (std::size_t i = 0; i < write.count; ++i) tiles.shape[rank - 1 - i] = write.axis[i].extent;
    for (std::size_t k = 0; k < operands_.all.size(); ++k) {
      tiles.operands[k] = along(k, is_tiled(k) ? read : write, rank);
      if (!fits(tiles.operands[k], in_tile)) return std::nullopt;
    }
    choose_vectors(tiles, read.axis[0], write.axis[0]);
    tiles.tiling.read =
        walk(read, rank, tiles.variant.read_width, operands_.itemsizes[tiled_.leader]);
    tiles.tiling.write = walk(write, rank, tiles.variant.write_width, operands_.itemsizes[0]);
    choose_swizzle(tiles);
    return tiles;
  }

 private:
  bool is_tiled(std::size_t k) const {
    return k >= operands_.outputs && tiled_.has(k - operands_.outputs);
  }

  /// The axes of what is read by tiles, or of the rest.
  Axes merged(const Order& order, bool reading) const {
    return axes_of(cut_, shape_, order, [&](const Axis& last, std::size_t next) {
      for (std::size_t k = 0; k < operands_.all.size(); ++k) {
        if (is_tiled(k) != reading) continue;
        if (operands_.stride(k, next) != operands_.stride(k, last.inner) * last.extent)
          return false;
      }
      return reading || pitch(next) == pitch(last.inner) * last.size;
    });
  }
  /// How far consecutive elements along an axis are from each other in the order of reading.
  std::int64_t pitch(std::size_t of) const {
    std::int64_t pitch = 1;
    for (std::size_t i = 0; tiled_.order.fastest(i) != of; ++i) {
      pitch *= cut_.size[tiled_.order.fastest(i)];
    }
    return pitch;
  }

  Operand along(std::size_t k, const Axes& axes, std::size_t rank) const {
    Operand operand{operands_.all[k].data, Strides::filled(rank, 0)};
    for (std::size_t i = 0; i < axes.count; ++i) {
      operand.strides[rank - 1 - i] = operands_.stride(k, axes.axis[i].inner);
    }
    return operand;
  }
  static bool fits(const Operand& operand, std::size_t in_tile) {
    const std::size_t rank = operand.strides.size();
    for (std::size_t d = rank - in_tile; d < rank; ++d) {
      if (std::abs(operand.strides[d]) > std::numeric_limits<std::int32_t>::max()) return false;
    }
    return true;
  }

  kernels::tile_walk walk(const Axes& axes, std::size_t rank, int width, std::uint32_t size) const {
    const auto by = [](std::int64_t n) {
      return kernels::divisor::by(static_cast<std::uint32_t>(n));
    };
    kernels::tile_walk walk{};
    for (std::size_t i = 0; i < axes.count; ++i) {
      const Axis& axis = axes.axis[i];
      walk.axis[rank - 1 - i] = {.extent = axis.extent,
                                 .every = by(cut_.every[axis.outer]),
                                 .parts = by(cut_.parts[axis.outer]),
                                 .size = by(axis.size),
                                 .pitch = static_cast<std::uint32_t>(pitch(axis.inner))};
    }
    const auto row = static_cast<std::uint32_t>(axes.axis[0].size);
    walk.rows = static_cast<std::uint32_t>(cut_.elements) / row;
    const std::uint32_t bytes = static_cast<std::uint32_t>(width) * size;
    // where instructions are the limit, a thread computes its row once for several accesses
    const std::uint32_t wanted = size >= 8 || (size == 4 && axes.in_tile <= 2) ? 128 : 32;
    const std::uint32_t lanes =
        lanes_of(row / static_cast<std::uint32_t>(width), walk.rows, bytes, wanted);
    walk.lanes_log2 = static_cast<std::uint32_t>(std::countr_zero(lanes));
    return walk;
  }

  /// The operands that are read by tiles, or the others.
  struct Part {
    SmallArray<Operand> operands;
    SmallArray<std::uint32_t> sizes;
    SmallArray<std::size_t> number;
  };
  Part part(const Tiles& tiles, bool reading) const {
    std::size_t count = 0;
    for (std::size_t k = 0; k < operands_.all.size(); ++k) count += is_tiled(k) == reading;
    Part part{SmallArray<Operand>(count), SmallArray<std::uint32_t>(count),
              SmallArray<std::size_t>(count)};
    std::size_t to = 0;
    for (std::size_t k = 0; k < operands_.all.size(); ++k) {
      if (is_tiled(k) != reading) continue;
      part.operands[to] = tiles.operands[k];
      part.sizes[to] = operands_.itemsizes[k];
      part.number[to++] = k;
    }
    return part;
  }
  void choose_vectors(Tiles& tiles, const Axis& read, const Axis& write) const {
    const Part tiled = part(tiles, true), rest = part(tiles, false);
    const auto all = [](const Part& p) {
      return std::span<const Operand>(p.operands.data(), p.operands.size());
    };
    tiles.variant.read_width = map_vectors({all(tiled), tiled.sizes.data(), tiled.operands.size()},
                                           std::gcd(read.extent, read.size))
                                   .width;
    const VectorAccess written = map_vectors({all(rest), rest.sizes.data(), operands_.outputs},
                                             std::gcd(write.extent, write.size));
    tiles.variant.write_width = written.width;
    unsigned wide = 0;
    for (std::size_t i = operands_.outputs; i < rest.number.size(); ++i) {
      if ((written.wide >> (i - operands_.outputs) & 1) == 0) continue;
      wide |= 1u << (rest.number[i] - operands_.outputs);
    }
    tiles.variant.wide = static_cast<int>(wide);
  }

  /// Consecutive threads read vectors that are this many bytes apart from the tile.
  void choose_swizzle(Tiles& tiles) const {
    const std::uint32_t bytes = tiles.tiling.write.axis[tiles.variant.rank - 1].pitch *
                                static_cast<std::uint32_t>(tiles.variant.write_width) *
                                operands_.itemsizes[tiled_.leader];
    tiles.tiling.swizzle = std::max<std::uint32_t>(std::bit_width(bytes) - 1, 7);
  }

  const CallOperands& operands_;
  const Shape& shape_;
  const TiledInputs& tiled_;
  const Cut cut_;
};

}  // namespace

std::optional<Tiles> tiles_of(const CallOperands& operands, const Shape& shape,
                              int multiprocessors) {
  if (shape.size() < 2 || shape.size() > most_axes) return std::nullopt;
  const TiledInputs tiled = tiled_inputs(operands, shape);
  if (tiled.set == 0) return std::nullopt;
  return Planner(operands, shape, tiled, multiprocessors).plan();
}

}  // namespace quarry::backend::cuda
