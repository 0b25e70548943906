// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <quarry/kernels/map.hpp>

#include "backend/cpu/cursor.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/map_run.hpp"
#include "backend/cpu/threads.hpp"
#include "backend/cpu/turned_inputs.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 inline_elements = i64{32} << 10;  // fewer are not worth a second thread
constexpr i64 grain_elements = i64{16} << 10;
constexpr i64 unit_elements =
    4096;  // threads meet at multiples of this, hence not within a cache line

const kernels::map_loops& loops_of(const KernelCall& call) {
  return *static_cast<const kernels::map_loops*>(call.program->loops);
}

/// Where elements are written at computed places, several values may meet at one: they come one
/// after another, in C order.
bool is_in_order(const KernelCall& call) { return loops_of(call).own[0].count > 0; }

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
  if (size < inline_elements || is_in_order(call)) return range(0, size);
  parallel((size + unit_elements - 1) / unit_elements, grain_elements / unit_elements,
           [&](i64 begin, i64 end) {
             range(begin * unit_elements, std::min(end * unit_elements, size));
           });
}

// An operand that is denser across the rows than along them is read through small tiles: the cache
// lines that the first row of a tile touches then serve the others too.
Tile tile_of(const Axes& axes, bool in_order) {
  const i64 columns = axes.last_extent();
  for (std::size_t k = 0; k < axes.operands() && !in_order; ++k) {
    if (is_across(axes, k)) return {32, std::min<i64>(columns, 32)};
  }
  return {std::max<i64>(1, grain_elements / columns), std::min(columns, grain_elements)};
}

/// Whether these rows are at one position of all axes but their last one.
bool are_together(const Axes& rows, i64 first, i64 last) {
  return first / rows.last_extent() == (last - 1) / rows.last_extent();
}

void map_rows(const KernelCall& call) {
  const Axes axes(call, 0, call.rank()), outer = axes.outer();
  const Pointers pointers = pointers_of(call);
  const Steps step = axes.last_steps();
  const TurnedInputs turned(loops_of(call), axes);
  const MapRun run(loops_of(call), step.data()), run_turned(loops_of(call), turned.step().data());
  const bool in_order = is_in_order(call), is_tiled = turned.any() && !in_order;
  const Tile tile = is_tiled ? turned.tile() : tile_of(axes, in_order);
  const i64 columns = axes.last_extent(), rows = call.kept / columns;
  const i64 across = is_tiled ? std::max<i64>(1, columns / tile.columns)
                              : (columns + tile.columns - 1) / tile.columns,
            down = (rows + tile.rows - 1) / tile.rows;
  const auto range = [&](i64 begin, i64 end) {
    Pointers begins(pointers.size()), at(pointers.size());
    TurnedInputs::Copies copies;
    for (i64 i = begin; i < end; ++i) {
      const i64 first = i / across * tile.rows, last = std::min(first + tile.rows, rows);
      const i64 column = i % across * tile.columns,
                n = i % across + 1 < across ? tile.columns : columns - column;
      advance(begins, pointers, step, column);
      Cursor cursor(outer, begins, first);
      const bool is_turned = is_tiled && are_together(outer, first, last);
      if (is_turned) turned.copy(copies, cursor.pointers(), last - first, n);
      for (i64 row = first; row < last; ++row, cursor.next()) {
        const i64 position = row * columns + column;
        if (!is_turned) {
          run(n, cursor.pointers().data(), scalars_of(call), position);
          continue;
        }
        std::ranges::copy(cursor.pointers(), at.begin());
        turned.replace(at, copies, row - first, n);
        run_turned(n, at.data(), scalars_of(call), position);
      }
    }
  };
  if (call.kept < inline_elements || in_order) return range(0, across * down);
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
