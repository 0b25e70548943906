// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/launch/tile_lanes.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "backend/cuda/launch/tile_banks.hpp"
#include "backend/cuda/launch/tile_cut.hpp"

namespace quarry::backend::cuda {
namespace {

/// Rows as the threads access them.
struct TileRows {
  std::uint32_t count, accesses;  ///< of a tile, and of each
  std::uint32_t bytes;            ///< of an access

  /// So many threads along a row leave none of the block without one.
  std::uint32_t busy() const { return std::bit_ceil((tile_threads + count - 1) / count); }
  /// How many accesses each of them has, at most.
  std::uint32_t passes(std::uint32_t lanes) const { return (accesses + lanes - 1) / lanes; }
};

/// The threads along a row access so many bytes of it, or at least a sector where that leaves fewer
/// idle. Of small elements, a thread finds its row once for several accesses.
std::uint32_t lanes_of(const TileRows& rows, std::uint32_t size) {
  const std::uint32_t wanted = size == 1 ? 32 : size == 2 ? 64 : 128;
  const std::uint32_t least = std::max({rows.busy(), kernels::tile_sector / rows.bytes, 1u}),
                      whole = std::bit_ceil(rows.accesses);
  std::uint32_t best = std::min({std::max(least, wanted / rows.bytes), whole, tile_threads});
  const auto covered = [&](std::uint32_t lanes) { return rows.passes(lanes) * lanes; };
  for (std::uint32_t lanes = best / 2; lanes >= least; lanes /= 2) {
    if (covered(best) - rows.accesses <= rows.accesses / 8) break;
    if (covered(lanes) < covered(best)) best = lanes;
  }
  return best;
}

/// A number of threads along rows, and what a row costs then.
struct Lanes {
  std::uint32_t count = 1;
  double cost = std::numeric_limits<double>::infinity();
};

/// The number with the least cost of a row: `least` or more, which access `most_bytes` at once.
template <class Cost>
Lanes cheapest_lanes(const TileRows& rows, std::uint32_t least, std::uint32_t most_bytes,
                     const Cost& cost) {
  const std::uint32_t whole = std::min(std::bit_ceil(rows.accesses), tile_threads),
                      enough = std::max(rows.busy(), most_bytes / rows.bytes);
  Lanes best;
  std::uint32_t lanes = std::min(std::max(rows.busy(), least), whole);
  do {
    const Lanes these{lanes, cost(lanes)};
    if (these.cost < best.cost) best = these;
    lanes *= 2;
  } while (lanes <= std::min(whole, enough));
  return best;
}

/// Clock cycles of a multiprocessor, estimated: of an instruction of a warp, and of what the L2
/// cache does for it where several threads access a line.
constexpr double instruction = 0.25, line = 1.6;

/// Copies of single words wait for each other in the multiprocessor.
double reading_cost(const TileRows& rows, std::uint32_t lanes, bool is_small) {
  const double row = is_small ? 30 : 10, access = is_small ? 6 : 64;  // instructions
  const double passes = rows.passes(lanes), warps = lanes / 32.0;
  return warps * (row + access * passes) * instruction +
         passes * lines_of(lanes * rows.bytes, rows.bytes) * line;
}

/// A warp with a vector of which the row has a part takes longer for all of its vectors.
double writing_cost(const TileRows& rows, std::uint32_t lanes, int width, bool has_ends,
                    std::uint32_t conflicts, bool turned) {
  constexpr double row = 40, access = 12, ends = 3;  // instructions, and passes
  const double element = turned ? 0.6 : 3.2;
  const double passes = rows.passes(lanes), warps = lanes / 32.0;
  const double slow = has_ends ? ends * std::min(passes, 2.0) : 0;
  return warps * (row + (access + element * width) * (passes + slow)) * instruction +
         passes * lines_of(lanes * rows.bytes, kernels::tile_sector) * line +
         warps * passes * width * conflicts;
}

std::uint32_t log2(std::uint32_t power_of_two) {
  return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}

TileRows rows_read(const Tiles& tiles, std::uint32_t size) {
  const kernels::tile_walk& read = tiles.tiling.read;
  const std::uint32_t row = read.axis[tiles.variant.rank - 1].size.constant,
                      bytes = std::max(size, static_cast<std::uint32_t>(tiles.variant.word));
  return {read.rows, (row * size + bytes - 1) / bytes, bytes};
}

TileRows rows_written(const Tiles& tiles, std::uint32_t size) {
  const kernels::tile_walk& write = tiles.tiling.write;
  const std::uint32_t row = write.axis[tiles.variant.rank - 1].size.constant;
  const auto width = static_cast<std::uint32_t>(tiles.variant.width);
  return {write.rows, (row + width - 1) / width, width * size};
}

/// By vectors of tiles.variant.width.
Lanes writing_lanes(Tiles& tiles, const TileElements& elements) {
  TileRows rows = rows_written(tiles, elements.written);
  const kernels::tiled_axis& axis = tiles.tiling.write.axis[tiles.variant.rank - 1];
  const bool has_ends = tiles.variant.shifted && axis.before == 0;
  const std::uint32_t sector = kernels::tile_sector / elements.written,
                      shift = has_ends ? sector / 2 : 0;  // on average
  const auto width = static_cast<std::uint32_t>(tiles.variant.width);
  rows.accesses = (axis.size.constant - axis.before + shift + width - 1) / width;
  return cheapest_lanes(rows, std::max(sector / width, 1u), 256, [&](std::uint32_t lanes) {
    tiles.tiling.write.lanes_log2 = log2(lanes);
    const bool turned = tiles.variant.turned;
    return writing_cost(rows, lanes, tiles.variant.width, has_ends,
                        turned ? 0 : bank_conflicts(tiles, elements.read, elements.widest), turned);
  });
}

/// Sets how far the rows of a thread are apart, of the last `in_tile` axes.
void set_steps(kernels::tile_walk& walk, int rank, int in_tile) {
  std::uint32_t rows = tile_threads >> walk.lanes_log2;
  std::int32_t places = 0;
  const int first = rank - in_tile;
  for (int axis = rank - 2; axis >= first; --axis) {
    kernels::tiled_axis& a = walk.axis[axis];
    const std::uint32_t outer = axis == first ? 0 : rows / a.size.constant;
    const auto pitch = static_cast<std::int32_t>(a.pitch);
    a.next = rows - outer * a.size.constant;
    places += static_cast<std::int32_t>(a.next) * pitch;
    if (axis > first) {
      a.next_place = static_cast<std::int32_t>(walk.axis[axis - 1].pitch) -
                     static_cast<std::int32_t>(a.size.constant) * pitch;
    }
    rows = outer;
  }
  if (in_tile > 1) {
    walk.axis[first].next_place = places;
  } else {
    walk.axis[first].next = rows;  // behind the only row
  }
}

void set_lanes(Tiles& tiles, const TileElements& elements, bool is_large) {
  TileRows read = rows_read(tiles, elements.read);
  kernels::tiling& tiling = tiles.tiling;
  if (!is_large) {
    tiling.read.lanes_log2 = log2(lanes_of(read, elements.read));
  } else {
    if (tiles.variant.word > 0) ++read.accesses;  // words that rows begin and end in
    const bool is_small = elements.read < 4;
    const auto cost = [&](std::uint32_t lanes) { return reading_cost(read, lanes, is_small); };
    tiling.read.lanes_log2 = log2(cheapest_lanes(read, 1, is_small ? 256 : 128, cost).count);
  }
  if (tiles.variant.turned) {
    tiling.write.lanes_log2 = log2(writing_lanes(tiles, elements).count);
    return;
  }
  const bool is_wide = tiles.variant.width == 16;
  if (is_wide) tiles.variant.width = 8;
  if (!is_large || elements.written >= 4) {
    const TileRows written = rows_written(tiles, elements.written);
    tiling.write.lanes_log2 = log2(lanes_of(written, elements.written));
    return;
  }
  Lanes best = writing_lanes(tiles, elements);
  // rows of several axes have so many places in a vector of 16 that fewer blocks fit
  if (is_wide && !tiles.variant.row_of_axes) {
    tiles.variant.width = 16;
    const Lanes wide = writing_lanes(tiles, elements);
    if (wide.cost <= best.cost) {
      best = wide;
    } else {
      tiles.variant.width = 8;
    }
  }
  tiling.write.lanes_log2 = log2(best.count);
}

}  // namespace

void choose_lanes(Tiles& tiles, const TileElements& elements, bool is_large) {
  set_lanes(tiles, elements, is_large);
  set_steps(tiles.tiling.read, tiles.variant.rank, tiles.variant.read_rank);
  set_steps(tiles.tiling.write, tiles.variant.rank, tiles.variant.write_rank);
}

}  // namespace quarry::backend::cuda
