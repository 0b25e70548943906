// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "backend/cpu/cursor.hpp"
#include "backend/cpu/loops.hpp"
#include "backend/cpu/threads.hpp"

namespace quarry::backend::cpu_backend {
namespace {

constexpr i64 inline_elements = i64{32} << 10;  // fewer are not worth a second thread
constexpr i64 grain_elements = i64{16} << 10;
constexpr i64 unit_elements = 4096;  // threads meet at multiples of this, hence not within a cache line

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

// Rows are runs along the last axis. Where they are long a task is a piece of a row, else some whole rows.
void map_rows(const MapCall& call, const Block& block) {
  const Steps step = block.axes.last_steps();
  const i64 columns = block.axes.last_extent(), rows = call.size / columns;
  const i64 piece = std::min(columns, grain_elements), pieces = (columns + piece - 1) / piece;
  const auto range = [&](i64 begin, i64 end) {
    i64 row = begin / pieces, column = begin % pieces * piece;
    Cursor cursor(block.axes.outer(), block.pointers, row);
    Pointers at(block.operands);
    for (i64 i = begin; i < end; ++i) {
      advance(at, cursor.pointers(), step, column, block.operands);
      const i64 n = std::min(piece, columns - column);
      call.program->map(n, at.data(), step.data(), block.scalars, row * columns + column);
      column += n;
      if (column < columns) continue;
      column = 0;
      ++row;
      cursor.next();
    }
  };
  if (call.size < inline_elements) return range(0, rows * pieces);
  parallel(rows * pieces, std::max<i64>(1, grain_elements / piece), range);
}

}  // namespace

void map_now(const MapCall& call) {
  const Block block(call);
  if (call.rank == 0)
    map_flat(call, block);
  else
    map_rows(call, block);
}

}  // namespace quarry::backend::cpu_backend
