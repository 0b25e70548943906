// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/unaligned.cuh"
#include "kernels/vector.cuh"

/// Rows of a dense operand that a list names, one behind another. Consecutive lanes store
/// consecutive words, which go on from a row to the next one.
namespace quarry::kernels {

/// The input whose elements an expression copies, so that rows of them can be packed; -1 for
/// others.
template <class E, class Out>
inline constexpr int packed_row_input = -1;
template <class T, int K>
requires(sizeof(T) <= 16 &&
         (sizeof(T) & (sizeof(T) - 1)) == 0) inline constexpr int packed_row_input<in<T, K>, T> = K;

/// Sets a bit for each of n bytes, `stride` bytes apart, that is not 0, in the words from `begin`
/// on before `end`, and returns how many a lane has found.
__device__ inline i64 mark_rows(const char* mask, i64 stride, i64 n, i64 begin, i64 end,
                                u32* bits) {
  const i64 lane = threadIdx.x % 32;
  i64 found = 0;
#pragma unroll 4
  for (i64 w = begin; w < end; ++w) {
    const i64 row = w * 32 + lane;
    const bool is_set = row < n && mask[row * stride] != 0;
    const u32 word = __ballot_sync(0xffffffffu, is_set);
    if (lane == 0) bits[w] = word;
    found += is_set ? 1 : 0;
  }
  return found;
}

/// The rows `places[0]`, places[1], ... of `from`, `count` > 0 of them with `bytes` bytes each.
struct listed_rows {
  const char* from;
  i32 bytes;
  const u16* places;
  i32 count;

  __device__ bool has(i32 row) const { return row >= 0 && row < count; }
  __device__ const char* at(i32 row) const { return from + places[row] * bytes; }
};

/// Where a byte of what is stored is: in a row, or before the first one.
struct row_place {
  i32 row, byte;

  /// `at` is -7 or more.
  static __device__ row_place of(const listed_rows& rows, i32 at) {
    constexpr i32 before = 7;  // rows
    const i32 from = at + before * rows.bytes, row = quotient(from, rows.bytes);
    return {row - before, from - row * rows.bytes};
  }
  /// `by`: how many rows and bytes.
  __device__ void advance(const listed_rows& rows, const row_place& by) {
    row += by.row, byte += by.byte;
    if (byte >= rows.bytes) byte -= rows.bytes, ++row;
  }
};

/// What a lane stores at once: an element, or several of one or two bytes.
template <class T, bool Small = (sizeof(T) < 4)>
struct row_word {
  static constexpr i32 size = sizeof(T), alignment = 1;
  static constexpr int together = size > 8 ? 2 : size > 4 ? 4 : 8;  ///< of a lane in flight
  vec<T, 1> element;

  __device__ void read(const listed_rows& rows, const row_place& place) {
    if (rows.has(place.row)) {
      element = *reinterpret_cast<const vec<T, 1>*>(rows.at(place.row) + place.byte);
    }
  }
  __device__ void store(const listed_rows&, const row_place&, i32 at, i32 all, char* to) const {
    if (at < all) *reinterpret_cast<vec<T, 1>*>(to + at) = element;
  }
};

template <class T>
struct row_word<T, true> {
  static constexpr i32 size = 8, alignment = 8;
  static constexpr int together = 3;  ///< of a lane in flight
  using Words = unaligned_words<T, size / sizeof(T)>;
  Words own, next;  ///< of the row that it begins in, and of the next one

  static __device__ i32 least(i32 a, i32 b) { return a < b ? a : b; }
  static __device__ u64 value(const Words& words) {
    const auto vector = words.vector();
    return u64{vector.word[1]} << 32 | vector.word[0];
  }

  __device__ void read(const listed_rows& rows, const row_place& place) {
    const i32 left = rows.bytes - place.byte;
    if (rows.has(place.row)) own.read(rows.at(place.row) + place.byte, 0, least(left, size));
    if (left < size && rows.has(place.row + 1)) {
      next.read(rows.at(place.row + 1), 0, least(size - left, rows.bytes));
    }
  }
  __device__ void store(const listed_rows& rows, const row_place& place, i32 at, i32 all,
                        char* to) const {
    if (at >= all) return;
    const i32 left = rows.bytes - place.byte;
    u64 bytes = value(own);
    const auto append = [&](i32 filled, const Words& more) {
      const u64 before = (u64{1} << 8 * filled) - 1;
      bytes = (bytes & before) | value(more) << 8 * filled;
    };
    if (left < size) {
      append(left, next);
      i32 filled = left + rows.bytes;
      for (i32 row = place.row + 2; filled < size && row < rows.count; ++row) {
        Words more;
        if (rows.has(row)) {
          more.read(rows.at(row), 0, least(size - filled, rows.bytes));
          append(filled, more);
        }
        filled += rows.bytes;
      }
    }
    if (at >= 0 && at + size <= all) {
      *reinterpret_cast<aligned_words<8>*>(to + at) =
          aligned_words<8>{{static_cast<u32>(bytes), static_cast<u32>(bytes >> 32)}};
    } else {
#pragma unroll
      for (i32 b = 0; b < size; b += sizeof(T)) {
        if (at + b >= 0 && at + b < all) {
          using Unsigned = typename unsigned_of<sizeof(T)>::type;
          *reinterpret_cast<Unsigned*>(to + at + b) = static_cast<Unsigned>(bytes >> 8 * b);
        }
      }
    }
  }
};

/// The lanes of a warp copy the rows to `to`. Rows and `to` are aligned to their elements.
template <class T>
__device__ void pack_rows(const listed_rows& rows, char* to) {
  using Word = row_word<T>;
  constexpr i32 step = 32 * Word::size;
  const i32 all = rows.bytes * rows.count, lane = static_cast<i32>(threadIdx.x % 32);
  const i32 before = static_cast<i32>(reinterpret_cast<u64>(to) % Word::alignment);
  const i32 rows_of_step = quotient(step, rows.bytes);
  const row_place by{rows_of_step, step - rows_of_step * rows.bytes};
  i32 at = lane * Word::size - before;
  row_place place = row_place::of(rows, at);
  while (at < all) {
    Word word[Word::together];
    row_place of[Word::together];
#pragma unroll
    for (int k = 0; k < Word::together; ++k) {
      of[k] = place;
      word[k].read(rows, place);
      place.advance(rows, by);
    }
    loads_are_above();
#pragma unroll
    for (int k = 0; k < Word::together; ++k, at += step) word[k].store(rows, of[k], at, all, to);
  }
}

}  // namespace quarry::kernels
