// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <quarry/kernels/map.hpp>

#include "backend/cpu/cursor.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/map_run.hpp"
#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 inline_elements = i64{32} << 10;  // fewer are not worth a second thread
constexpr i64 grain_elements = i64{16} << 10;
constexpr i64 unit_elements =
    4096;  // threads meet at multiples of this, hence not within a cache line

const kernels::map_loops& loops_of(const KernelCall& call) {
  return *static_cast<const kernels::map_loops*>(call.program->loops);
}

void map_flat(const KernelCall& call) {
  const Pointers pointers = pointers_of(call);
  const Steps step = Axes(call, 0, 1).last_steps();
  const MapRun run(loops_of(call), step.data());
  const auto range = [&](i64 begin, i64 end) {
    Pointers at(pointers.size());
    advance(at, pointers, step, begin);
    run(end - begin, at.data(), scalars_of(call), begin);
  };
  const i64 size = call.kept;
  if (size < inline_elements) return range(0, size);
  parallel((size + unit_elements - 1) / unit_elements, grain_elements / unit_elements,
           [&](i64 begin, i64 end) {
             range(begin * unit_elements, std::min(end * unit_elements, size));
           });
}

/// What is walked row by row before the next columns.
struct Tile {
  i64 rows, columns;
};

// An operand that is denser across the rows than along them is read through small tiles: the cache
// lines that the first row of a tile touches then serve the others too.
Tile tile_of(const Axes& axes) {
  const i64 columns = axes.last_extent();
  const std::size_t rank = axes.rank();
  const auto magnitude = [](i64 stride) { return stride < 0 ? -stride : stride; };
  for (std::size_t k = 0; k < axes.operands() && rank > 1; ++k) {
    const i64 along = magnitude(axes.stride(k, rank - 1)),
              across = magnitude(axes.stride(k, rank - 2));
    if (across != 0 && across < along && along >= 64) return {32, std::min<i64>(columns, 32)};
  }
  return {std::max<i64>(1, grain_elements / columns), std::min(columns, grain_elements)};
}

void map_rows(const KernelCall& call) {
  const Axes axes(call, 0, call.rank()), outer = axes.outer();
  const Pointers pointers = pointers_of(call);
  const Steps step = axes.last_steps();
  const MapRun run(loops_of(call), step.data());
  const Tile tile = tile_of(axes);
  const i64 columns = axes.last_extent(), rows = call.kept / columns;
  const i64 across = (columns + tile.columns - 1) / tile.columns,
            down = (rows + tile.rows - 1) / tile.rows;
  const auto range = [&](i64 begin, i64 end) {
    Pointers at(pointers.size());
    for (i64 i = begin; i < end; ++i) {
      const i64 first = i / across * tile.rows, last = std::min(first + tile.rows, rows);
      const i64 column = i % across * tile.columns, n = std::min(tile.columns, columns - column);
      Cursor cursor(outer, pointers, first);
      for (i64 row = first; row < last; ++row, cursor.next()) {
        advance(at, cursor.pointers(), step, column);
        run(n, at.data(), scalars_of(call), row * columns + column);
      }
    }
  };
  if (call.kept < inline_elements) return range(0, across * down);
  parallel(across * down, std::max<i64>(1, grain_elements / (tile.rows * tile.columns)), range);
}

}  // namespace

void map_now(const KernelCall& call) {
  if (call.is_flat()) {
    map_flat(call);
  } else {
    map_rows(call);
  }
}

}  // namespace quarry::backend::cpu_backend
