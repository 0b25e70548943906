// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "backend/cuda/launch/grid.hpp"
#include "backend/cuda/launch/tile_banks.hpp"
#include "backend/cuda/launch/tile_cut.hpp"
#include "backend/cuda/launch/tile_lanes.hpp"
#include "backend/cuda/launch/tile_places.hpp"
#include "backend/cuda/launch/turned_tiles.hpp"

namespace quarry::backend::cuda {
namespace {

/// How the elements of a tile lie in shared memory.
enum class TileLayout { plain, swizzled, turned };

/// From a call to the parameters of the kernel.
class Planner {
 public:
  Planner(const CallOperands& operands, const Shape& shape, const TiledInputs& tiled,
          const Cut& cut, bool is_large, TileLayout layout)
      : operands_(operands),
        shape_(shape),
        tiled_(tiled),
        cut_(cut),
        written_(run_of(cut, operands, shape, writing_order(shape.size()), 0)),
        is_large_(is_large) {
    variant_.swizzled = layout == TileLayout::swizzled;
    variant_.turned = layout == TileLayout::turned;
  }

  std::optional<Tiles> plan() {
    const Axes read = merged(tiled_.order, true);
    places_ = variant_.turned ? places_in_order(cut_, tiled_.order)
                              : places_of(cut_, tiled_, read, part(read, true), variant_.swizzled);
    variant_.word = places_.word;
    Axes write = merged(writing_order(shape_.size()), false);
    lengthen_rows(write);
    choose_writing(write);
    if (variant_.turned && !turn(write)) return std::nullopt;
    if (variant_.shifted) overlap_rows(read, write);
    if (cut_.count > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    const std::size_t rank = std::max(read.count, write.count);
    variant_.rank = static_cast<int>(rank);
    variant_.read_rank = static_cast<int>(read.in_tile);
    variant_.write_rank = static_cast<int>(write.in_tile);
    variant_.tiled = static_cast<int>(tiled_.set);
    Tiles tiles{.variant = variant_,
                .tiling = {.read = walk(read, rank),
                           .write = walk(write, rank),
                           .row = {},
                           .row_axes = static_cast<std::uint32_t>(row_axes_.rank),
                           .turned = turned_},
                .shape = Shape::filled(rank, 1),
                .operands = SmallArray<Operand>(operands_.all.size()),
                .count = static_cast<unsigned>(cut_.count)};
    for (std::size_t i = 0; i < write.count; ++i) tiles.shape[rank - 1 - i] = write.axis[i].extent;
    for (std::size_t i = 0; i < row_axes_.rank; ++i) {
      const std::size_t axis = row_axes_.axis[i];
      tiles.tiling.row[i] = {kernels::divisor::by(static_cast<std::uint32_t>(cut_.size[axis])),
                             static_cast<std::uint32_t>(pitch(axis)),
                             operands_.stride(tiled_.leader, axis)};
    }
    for (std::size_t k = 0; k < operands_.all.size(); ++k) {
      const Axes& axes = is_tiled(k) ? read : write;
      tiles.operands[k] = along(k, axes, rank);
      if (!fits(tiles.operands[k], axes.in_tile)) return std::nullopt;
    }
    tiles.variant.alike = are_alike(tiles, write.in_tile);
    const TileElements elements{operands_.itemsizes[tiled_.leader], operands_.itemsizes[0],
                                tiled_.widest};
    choose_lanes(tiles, elements, is_large_);
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
  /// Rows of few elements, which are next to each other in memory, become longer ones, though they
  /// are not next to each other in the tile. Of tiles that are turned, rows of bytes are long
  /// enough sooner, as their axes cannot be those along which the input is dense.
  void lengthen_rows(Axes& axes) {
    constexpr std::int64_t most = kernels::most_row_elements;
    const std::int64_t widest = tiled_.widest, long_row = variant_.turned && widest == 1 ? 96 : 512;
    const auto goes_on = [&](const Axis& row, std::size_t used) {
      return used < axes.in_tile && row.size == row.extent && is_next(row, axes.axis[used]) &&
             !(variant_.turned && row.size * widest >= long_row);
    };
    if (axes.axis[0].size * widest >= long_row || axes.axis[0].size < axes.axis[0].extent) return;
    Axis row = axes.axis[0];
    std::size_t used = 1;
    while (goes_on(row, used)) {
      const Axis& next = axes.axis[used];
      if (row.size * next.size > most) break;
      row = {row.inner, next.outer, row.extent * next.extent, row.size * next.size,
             row.step * next.size};
      ++used;
    }
    std::optional<Axis> rest;  // of an axis of which rows have a part
    if (goes_on(row, used)) {
      const Axis& next = axes.axis[used];
      const std::int64_t each = most / row.size;
      if (each > 1) {
        rest = Axis{row.inner, next.inner, 1, divide_up(next.size, each), 1, row.size * each};
        row = {row.inner, next.outer, row.extent * next.extent, row.size * each,
               row.step * next.size};
        ++used;
      }
    }
    if (row.size < 2 * axes.axis[0].size) return;
    list_row(axes, used);
    Axes longer;
    longer.axis[longer.count++] = row;
    if (rest) longer.axis[longer.count++] = *rest;
    const std::size_t in_tile = axes.in_tile - used + longer.count;
    for (std::size_t i = used; i < axes.count; ++i) longer.axis[longer.count++] = axes.axis[i];
    longer.in_tile = in_tile;
    axes = longer;
    variant_.row_of_axes = true;
  }
  /// Whether all that is not read by tiles goes on along `next` where `row` ends.
  bool is_next(const Axis& row, const Axis& next) const {
    for (std::size_t k = 0; k < operands_.all.size(); ++k) {
      if (is_tiled(k)) continue;
      if (operands_.stride(k, next.inner) != operands_.stride(k, row.inner) * row.extent)
        return false;
    }
    return true;
  }
  /// The axes of the tile of which the first `used` ones are merged.
  void list_row(const Axes& axes, std::size_t used) {
    const Order order = writing_order(shape_.size());
    for (std::size_t i = 0; i < order.rank; ++i) {
      const std::size_t axis = order.fastest(i);
      if (cut_.size[axis] > 1) row_axes_.axis[row_axes_.rank++] = axis;
      if (axis == axes.axis[used - 1].outer) return;
    }
  }
  /// Whether several operands are not read by tiles, all with the same strides along their axes:
  /// that saves registers. Of words it is slower.
  bool are_alike(const Tiles& tiles, std::size_t in_tile) const {
    if (operands_.itemsizes[0] >= 4) return false;
    const Strides& first = tiles.operands[0].strides;
    std::size_t count = 0;
    for (std::size_t k = 0; k < tiles.operands.size(); ++k) {
      if (is_tiled(k)) continue;
      ++count;
      const Strides& strides = tiles.operands[k].strides;
      if (!std::equal(first.end() - static_cast<std::ptrdiff_t>(in_tile), first.end(),
                      strides.end() - static_cast<std::ptrdiff_t>(in_tile))) {
        return false;
      }
    }
    return count > 1;
  }
  /// How far consecutive elements along an axis are from each other in the tile.
  std::int64_t pitch(std::size_t axis) const { return places_.pitch[axis]; }

  Operand along(std::size_t k, const Axes& axes, std::size_t rank) const {
    Operand operand{operands_.all[k].data, Strides::filled(rank, 0)};
    for (std::size_t i = 0; i < axes.count; ++i) {
      const Axis& axis = axes.axis[i];
      operand.strides[rank - 1 - i] = operands_.stride(k, axis.inner) * axis.stride;
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

  kernels::tile_walk walk(const Axes& axes, std::size_t rank) const {
    const auto by = [](std::int64_t n) {
      return kernels::divisor::by(static_cast<std::uint32_t>(n));
    };
    kernels::tile_walk walk{};
    for (std::size_t i = 0; i < axes.count; ++i) {
      const Axis& axis = axes.axis[i];
      const bool is_part = axis.stride > 1;  // not cut: the axis before is
      walk.axis[rank - 1 - i] = {
          .extent = is_part ? axis.size : axis.extent,
          .every = by(is_part ? 1 : cut_.every[axis.outer]),
          .parts = by(is_part ? 1 : cut_.parts[axis.outer]),
          .size = by(axis.size),
          .step = static_cast<std::uint32_t>(is_part ? axis.size : axis.step - before(axis)),
          .before = static_cast<std::uint32_t>(before(axis)),
          .pitch = static_cast<std::uint32_t>(
              is_part ? pitch(axis.outer) * (axis.stride / inner_size(axis)) : pitch(axis.inner))};
      if (is_part) walk.row_step = static_cast<std::uint32_t>(axis.stride);
    }
    std::int64_t rows = 1;
    for (std::size_t i = 1; i < axes.in_tile; ++i) rows *= axes.axis[i].size;
    walk.rows = static_cast<std::uint32_t>(rows);
    return walk;
  }

  /// Where sectors of the output go beyond parts of its rows, which begin at any element, the next
  /// part has the elements of such a sector too, and writes it.
  void overlap_rows(const Axes& read, const Axes& write) {
    const Axis& row = write.axis[0];
    if (write.count > 1 && write.axis[1].stride > 1) return;  // of which parts have several
    const auto has_row = [&](const Axis& axis) { return axis.outer == row.outer; };
    const Axis *const first = read.axis.data(), *const end = first + read.in_tile;
    const std::int64_t before = overlap_of(written_, cut_, shape_);
    if (before == 0 || written_.last != row.outer) return;
    if (std::find_if(first, end, has_row) == end) return;
    if (has_row(*first) && is_one(*first)) return;  // it is not read in another order
    overlap(cut_, shape_, tiled_.order, row.outer, before);
  }
  /// The elements of a row of several axes for each element along the last of them.
  std::int64_t inner_size(const Axis& rest) const {
    std::int64_t size = 1;
    for (std::size_t i = 0; row_axes_.axis[i] != rest.outer; ++i) {
      size *= cut_.size[row_axes_.axis[i]];
    }
    return size;
  }
  static bool is_one(const Axis& axis) { return axis.inner == axis.outer; }
  /// In positions along the axis: only the outer one of several is cut.
  std::int64_t before(const Axis& axis) const {
    return cut_.before[axis.outer] * (axis.size / cut_.size[axis.outer]);
  }

  /// The operands that are read by tiles, or the others.
  TilePart part(const Axes& axes, bool reading) const {
    std::size_t count = 0;
    for (std::size_t k = 0; k < operands_.all.size(); ++k) count += is_tiled(k) == reading;
    TilePart part{SmallArray<Operand>(count), SmallArray<std::uint32_t>(count),
                  SmallArray<std::size_t>(count)};
    std::size_t to = 0;
    for (std::size_t k = 0; k < operands_.all.size(); ++k) {
      if (is_tiled(k) != reading) continue;
      part.operands[to] = along(k, axes, axes.count);
      part.sizes[to] = operands_.itemsizes[k];
      part.number[to++] = k;
    }
    return part;
  }

  static std::int64_t divisor_of(const Axis& row) {
    return std::gcd(std::gcd(row.extent, row.size), row.step);
  }
  bool turn(const Axes& write) {
    if (write.count > 1 && write.axis[1].stride > 1) return false;  // a part of rows
    const std::optional<kernels::turned_tile> tile = turned_tile_of(
        operands_, shape_, tiled_, cut_, write.axis[0], static_cast<std::uint32_t>(variant_.width));
    if (!tile) return false;
    turned_ = *tile;
    if (row_axes_.rank == 0) list_row(write, 1);
    variant_.row_of_axes = false;
    return true;
  }

  /// Aligned vectors; vectors that begin before rows where those are shorter.
  void choose_writing(const Axes& axes) {
    const TilePart rest = part(axes, false);
    const CallOperands call = rest.call(operands_.outputs);
    VectorAccess access = map_vectors(call, divisor_of(axes.axis[0]));
    const std::uint32_t size = operands_.itemsizes[0];
    const std::uint32_t bytes = static_cast<std::uint32_t>(access.width) * size;
    const bool is_cut = axes.axis[0].size < axes.axis[0].extent;  // parts end within sectors
    const bool by_sectors = size < 4 && is_cut && !written_.at_sectors();
    if (by_sectors || (size <= 8 && bytes < (is_cut && size >= 4 ? 16u : 8u))) {
      VectorAccess shifted = shifted_map_vectors(call);
      while (axes.axis[0].size < 4 * std::int64_t{shifted.width} && shifted.width > 1) {
        shifted.width /= 2;
      }
      const bool is_enough = by_sectors && shifted.width == access.width;
      if (shifted.width > access.width || is_enough) access = shifted;
    }
    unsigned wide = 0;
    for (std::size_t i = operands_.outputs; i < rest.number.size(); ++i) {
      if ((access.wide >> (i - operands_.outputs) & 1) == 0) continue;
      wide |= 1u << (rest.number[i] - operands_.outputs);
    }
    variant_.wide = static_cast<int>(wide);
    variant_.width = access.width;
    variant_.shifted = access.places == VectorPlaces::shifted;
  }

  const CallOperands& operands_;
  const Shape& shape_;
  const TiledInputs& tiled_;
  Cut cut_;
  const Run written_;  ///< of the first output
  bool is_large_;
  Order row_axes_;  ///< that rows which are written consist of, the first one varies fastest
  TiledMap variant_{};
  TilePlaces places_{};
  kernels::turned_tile turned_{};
};

}  // namespace

std::optional<Tiles> tiles_of(const CallOperands& operands, const Shape& shape,
                              int multiprocessors) {
  if (shape.size() < 2 || shape.size() > kernels::most_tiled_axes) return std::nullopt;
  const TiledInputs tiled = tiled_inputs(operands, shape);
  if (tiled.set == 0) return std::nullopt;
  const auto conflicts = [&](const Tiles& tiles) {
    return bank_conflicts(tiles, operands.itemsizes[tiled.leader], tiled.widest);
  };
  constexpr std::uint32_t many = 3;
  const bool searches = is_large(shape, tiled, multiprocessors);
  if (searches && !tiled.are_words() && operands.all.size() == 2) {  // others are slower so
    const Cut cut = turned_cut_of(operands, shape, tiled);
    Planner planner(operands, shape, tiled, cut, searches, TileLayout::turned);
    if (std::optional<Tiles> tiles = planner.plan()) return tiles;
  }
  const auto plan = [&](const Cut& cut) {
    const auto planned = [&](TileLayout layout) {
      return Planner(operands, shape, tiled, cut, searches, layout).plan();
    };
    std::optional<Tiles> tiles = planned(TileLayout::plain);
    if (!tiles || !searches || conflicts(*tiles) < many) return tiles;
    std::optional<Tiles> swizzled = planned(TileLayout::swizzled);
    return swizzled && conflicts(*swizzled) < conflicts(*tiles) ? swizzled : tiles;
  };
  const Cut cut = cut_of(operands, shape, tiled, multiprocessors, searches);
  std::optional<Tiles> tiles = plan(cut);
  if (!tiles || !searches || !tiled.are_words() || conflicts(*tiles) < many) return tiles;
  // what is saved of accesses to lines of words does not make up for more conflicts
  const Cut usual = cut_of(operands, shape, tiled, multiprocessors, false);
  if (usual.size == cut.size) return tiles;
  std::optional<Tiles> others = plan(usual);
  return others && conflicts(*others) < conflicts(*tiles) ? others : tiles;
}

}  // namespace quarry::backend::cuda
