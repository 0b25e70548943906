// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/map.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "backend/cpu/cursor.hpp"

namespace quarry::backend::cpu_backend {

/// What is walked row by row before the next columns.
struct Tile {
  i64 rows, columns;
};

/// Whether an operand is denser across the rows than along them.
inline bool is_across(const Axes& axes, std::size_t k) {
  if (axes.rank() < 2) return false;
  const auto magnitude = [](i64 stride) { return stride < 0 ? -stride : stride; };
  const i64 along = magnitude(axes.stride(k, axes.rank() - 1)),
            across = magnitude(axes.stride(k, axes.rank() - 2));
  return across != 0 && across < along && along >= 64;
}

/// Inputs whose elements lie side by side across the rows. Of every tile they are copied, so that
/// they lie side by side along its rows.
class TurnedInputs {
 public:
  static constexpr std::size_t most = 2, most_bytes = 16;  // inputs, and of an element
  static constexpr i64 columns = kernels::map_loops::block;
  static constexpr std::size_t most_row_bytes = 256;  // of one column's elements in a tile
  /// Of less than two blocks of columns, side by side.
  struct Copies {
    alignas(64) char bytes[most][2 * columns * most_row_bytes];
  };

  TurnedInputs(const kernels::map_loops& loops, const Axes& axes) : step_(axes.last_steps()) {
    if (!find(loops, axes)) count_ = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      step_[inputs_[i].operand] = static_cast<i64>(inputs_[i].size);
    }
  }

  bool any() const { return count_ > 0; }
  /// Some cache lines across, and a block of elements; what is left of the columns belongs to the
  /// last tile.
  Tile tile() const { return {rows_, columns}; }
  /// Of the operands along a row, with the copies.
  const Steps& step() const { return step_; }
  /// Of a tile of n columns whose first elements are at `at`.
  void copy(Copies& to, const Pointers& at, i64 rows, i64 n) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const Input& input = inputs_[i];
      const char* const from = at[input.operand];
      if (input.size == 1) turn<1>(to.bytes[i], from, rows, n, input.step);
      if (input.size == 2) turn<2>(to.bytes[i], from, rows, n, input.step);
      if (input.size == 4) turn<4>(to.bytes[i], from, rows, n, input.step);
      if (input.size == 8) turn<8>(to.bytes[i], from, rows, n, input.step);
      if (input.size == 16) turn<16>(to.bytes[i], from, rows, n, input.step);
    }
  }
  /// Replaces the inputs' addresses by those of their copies in one row.
  void replace(Pointers& at, Copies& copies, i64 row, i64 n) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const i64 row_bytes = n * static_cast<i64>(inputs_[i].size);
      at[inputs_[i].operand] = copies.bytes[i] + row * row_bytes;
    }
  }

 private:
  struct Input {
    std::size_t operand, size;
    i64 step;
  };
  /// False where another operand lies across the rows, too, or the rows are few.
  bool find(const kernels::map_loops& loops, const Axes& axes) {
    for (std::size_t k = 0; k < axes.operands(); ++k) {
      if (!is_across(axes, k)) continue;
      const auto size = std::size_t{loops.size[k]};
      if (k < static_cast<std::size_t>(loops.outputs) || loops.own[k].count > 0 || count_ == most ||
          size > most_bytes || !std::has_single_bit(size) ||
          axes.stride(k, axes.rank() - 2) != static_cast<i64>(size)) {
        return false;
      }
      inputs_[count_++] = {k, size, step_[k]};
      rows_ = std::min<i64>(rows_, size <= 2 ? 64 : size <= 8 ? 32 : 16);
    }
    return count_ > 0 && axes.extent(axes.rank() - 2) >= rows_;
  }
  template <std::size_t Size>
  static void turn(char* to, const char* from, i64 rows, i64 n, i64 step) {
    constexpr i64 size = Size, together = 8;  // columns, whose cache lines are read at one time
    const auto move = [=](i64 row, i64 column) {
      std::memcpy(to + (row * n + column) * size, from + column * step + row * size, Size);
    };
    i64 column = 0;
    for (; column + together <= n; column += together) {
      for (i64 row = 0; row < rows; ++row) {
        for (i64 c = 0; c < together; ++c) move(row, column + c);
      }
    }
    for (; column < n; ++column) {
      for (i64 row = 0; row < rows; ++row) move(row, column);
    }
  }

  Steps step_;
  std::size_t count_ = 0;
  Input inputs_[most];
  i64 rows_ = 64;
};

}  // namespace quarry::backend::cpu_backend
