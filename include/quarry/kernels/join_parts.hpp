// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>
#include <quarry/kernels/types.hpp>

namespace quarry::kernels {

inline constexpr int most_joined_parts = 16, most_joined_axes = 3, most_joined_values = 8;

/// A part of every row of a join: its columns up to `end`, from where the part before it ends.
struct joined_part {
  i64 end;
  u64 data;                     ///< where column 0 would be, of index 0 along all axes; 0: filled
  i64 pitch[most_joined_axes];  ///< bytes along the axes
  i32 value;                    ///< of one that is filled
};

/// An extent, by which numbers of rows and words are divided.
struct joined_extent {
  i64 extent = 1;
  divisor by;  ///< the same, where it is below 2^31

  QUARRY_HD static constexpr joined_extent of(i64 extent) {
    return {extent, divisor::by(static_cast<u32>(extent >> 31 == 0 ? extent : 1))};
  }
  QUARRY_HD i64 quotient(i64 n) const {
    return static_cast<i64>(static_cast<u64>(n) / static_cast<u64>(extent));
  }
  QUARRY_HD i32 quotient(i32 n) const { return static_cast<i32>(by.quotient(static_cast<u32>(n))); }
};

/// One of the axes that rows are along: row i is row i - shift of the parts, or if it
/// `wraps` row i - shift + size for i < shift. Rows that the parts have not are filled with value
/// number `value`, those behind the last one with the next value.
struct joined_axis {
  joined_extent result;
  i64 shift, size;  ///< of the parts
  i32 wraps, value;
};

/// What rows of words are joined of; the last axis varies fastest. Where several axes say with what
/// a row is filled the last one counts, and a part that is filled anyway has its own value.
struct join_parts {
  joined_extent columns;
  i32 axes, parts;
  joined_axis axis[most_joined_axes];
  joined_part part[most_joined_parts];
  alignas(16) u64 value[most_joined_values][2];  ///< words, as often as 16 bytes have them
};

/// Where a row is among those of the parts. Index: an integer that has the number of every word.
template <class Index>
struct joined_row {
  Index at[most_joined_axes];
  i32 filled = -1;  ///< with this value

  QUARRY_HD joined_row(const join_parts& join, Index row, int axes) {
    QUARRY_UNROLL
    for (int d = most_joined_axes - 1; d >= 0; --d) {
      if (d >= axes) continue;
      const joined_axis& axis = join.axis[d];
      const Index outer = d > 0 ? axis.result.quotient(row) : 0;
      const auto extent = static_cast<Index>(axis.result.extent);
      const auto size = static_cast<Index>(axis.size), shift = static_cast<Index>(axis.shift);
      Index i = row - outer * extent - shift;
      if (i < 0 && axis.wraps != 0) i += size;
      if (filled < 0 && (i < 0 || i >= size)) filled = axis.value + (i < 0 ? 0 : 1);
      at[d] = i;
      row = outer;
    }
  }
  /// With what the row's part is filled, or -1.
  QUARRY_HD i32 value_of(const joined_part& part) const {
    return part.data == 0 ? part.value : filled;
  }
  /// The address of what column 0 of the part would be.
  QUARRY_HD u64 address_of(const joined_part& part, int axes) const {
    i64 offset = 0;
    QUARRY_UNROLL
    for (int d = 0; d < most_joined_axes; ++d) {
      if (d < axes) offset += i64{at[d]} * part.pitch[d];
    }
    return part.data + static_cast<u64>(offset);
  }
};

}  // namespace quarry::kernels
