// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "backend/cpu/cursor.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/threads.hpp"
#include "base/float_environment.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 inline_elements = i64{32} << 10;  // fewer are not worth a second thread
constexpr i64 grain_elements = i64{16} << 10;
constexpr i64 unit_elements =
    4096;  // threads meet at multiples of this, hence not within a cache line

/// A map's parameter block (kernels/params.hpp) taken apart.
struct Block {
  explicit Block(const MapCall& call)
      : operands(call.program->inputs + 1),
        pointers(pointers_in(call.words, 1, operands)),
        scalars(reinterpret_cast<const u64*>(call.words.data() + 1 + operands)) {
    const int shape = 1 + operands + 2 * call.program->scalars;
    axes = {call.rank, operands, signed_words(call.words, shape),
            signed_words(call.words, shape + call.rank), call.rank};
  }
  int operands;
  Pointers pointers;
  const u64* scalars;
  Axes axes;
};

void map_flat(const MapCall& call, const Block& block) {
  Steps step(block.operands);
  for (int k = 0; k < block.operands; ++k) step[k] = call.program->itemsize[k];
  const auto range = [&](i64 begin, i64 end) {
    Pointers at(block.operands);
    advance(at, block.pointers, step, begin, block.operands);
    call.program->map(end - begin, at.data(), step.data(), block.scalars, begin);
  };
  if (call.size < inline_elements) return range(0, call.size);
  parallel((call.size + unit_elements - 1) / unit_elements, grain_elements / unit_elements,
           [&](i64 begin, i64 end) {
             range(begin * unit_elements, std::min(end * unit_elements, call.size));
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
  const auto magnitude = [](i64 stride) { return stride < 0 ? -stride : stride; };
  for (int k = 0; k < axes.operands && axes.rank > 1; ++k) {
    const i64 along = magnitude(axes.stride(k, axes.rank - 1)),
              across = magnitude(axes.stride(k, axes.rank - 2));
    if (across != 0 && across < along && along >= 64) return {32, std::min<i64>(columns, 32)};
  }
  return {std::max<i64>(1, grain_elements / columns), std::min(columns, grain_elements)};
}

void map_rows(const MapCall& call, const Block& block) {
  const Axes outer = block.axes.outer();
  const Steps step = block.axes.last_steps();
  const Tile tile = tile_of(block.axes);
  const i64 columns = block.axes.last_extent(), rows = call.size / columns;
  const i64 across = (columns + tile.columns - 1) / tile.columns,
            down = (rows + tile.rows - 1) / tile.rows;
  const auto range = [&](i64 begin, i64 end) {
    Pointers at(block.operands);
    for (i64 i = begin; i < end; ++i) {
      const i64 first = i / across * tile.rows, last = std::min(first + tile.rows, rows);
      const i64 column = i % across * tile.columns, n = std::min(tile.columns, columns - column);
      Cursor cursor(outer, block.pointers, first);
      for (i64 row = first; row < last; ++row, cursor.next()) {
        advance(at, cursor.pointers(), step, column, block.operands);
        call.program->map(n, at.data(), step.data(), block.scalars, row * columns + column);
      }
    }
  };
  if (call.size < inline_elements) return range(0, across * down);
  parallel(across * down, std::max<i64>(1, grain_elements / (tile.rows * tile.columns)), range);
}

}  // namespace

void map_now(const MapCall& call) {
  const FloatEnvironment environment;
  const Block block(call);
  if (call.rank == 0)
    map_flat(call, block);
  else
    map_rows(call, block);
}

}  // namespace quarry::backend::cpu_backend
