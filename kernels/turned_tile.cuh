// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/packed.cuh"
#include "kernels/params.cuh"
#include "kernels/tile.cuh"
#include "kernels/unaligned.cuh"

/// Tiles of elements of one or two bytes that are turned while they are read (map_tiled.cuh): a
/// thread reads words of four runs of the input, and stores what these have of each row that is
/// written. Shared memory then has whole words of the rows.
namespace quarry::kernels {

/// N words of a run, from any byte on.
template <int N>
struct words_of_run {
  u32 word[N + 1], bits;

  /// Reads the aligned words that have some of the 4 * N bytes from `at` on. The last `over` of
  /// these are not there, or -`over` more are.
  __device__ void read(u64 at, i32 over) {
    const auto* const words = reinterpret_cast<const u32*>(at & ~u64{3});
    const i32 before = static_cast<i32>(at & 3);
    bits = 8 * static_cast<u32>(at);
#pragma unroll
    for (int i = 0; i <= N; ++i) {
      word[i] = 0;
      read_if_above(word[i], words + i, before + 4 * (N - i), i == N && over < 0 ? 0 : over);
    }
  }
  __device__ u32 get(int i) const { return bits_behind(word[i], word[i + 1], bits); }
};

/// Elements of Size bytes, 1 or 2, of a tile in shared memory. A row is `pitch` words behind the
/// one before it, and four more where that is of another part of the runs: threads along runs then
/// meet different banks.
template <u32 Size>
struct turned_rows {
  static constexpr u32 size = Size, in_word = 4 / size;  ///< bytes, and elements
  static constexpr int runs = turned_runs,
                       words = turned_part / 4;  ///< that a thread reads at once
  /// Words before the first row: vectors of rows begin up to a sector before these.
  static constexpr u32 front = turned_front / 4, skew = turned_skew / 4;

  static __device__ u32 first_word(const turned_tile& tile, u32 row) {
    return front + row * tile.pitch + row / (in_word * words) * skew;
  }

  /// From a word of each run, words of the rows that have something of these.
  static __device__ void turn(const u32 (&run)[runs], u32 (&row)[runs]) {
    if constexpr (size == 1) {
      transpose_bytes(run, row);
    } else {
      row[0] = chosen_bytes<0x5410>(run[0], run[1]);
      row[1] = chosen_bytes<0x5410>(run[2], run[3]);
      row[2] = chosen_bytes<0x7632>(run[0], run[1]);
      row[3] = chosen_bytes<0x7632>(run[2], run[3]);
    }
  }

  /// Reads runs of `bytes` bytes, which begin as far behind `first` as `runs_at` says.
  static __device__ void read(const char* first, const i64* runs_at, const turned_tile& tile,
                              i32 bytes, u32* to) {
    constexpr i32 of_part = turned_part;
    const u32 parts = tile.parts.constant, count = parts * tile.groups;
    const i32 last = (bytes - 1) / of_part * of_part;
#pragma unroll 1
    for (u32 next = threadIdx.x; next < count; next += tile_threads) {
      const u32 group = tile.parts.quotient(next), part = next - group * parts;
      const i32 wanted = of_part * static_cast<i32>(part), byte = wanted < last ? wanted : last;
      words_of_run<words> of[runs];
#pragma unroll
      for (int i = 0; i < runs; ++i) {
        const u64 from = reinterpret_cast<u64>(first + byte) +
                         static_cast<u64>(runs_at[group * runs + static_cast<u32>(i)]);
        of[i].read(from, byte + of_part - bytes);
      }
      loads_are_above();
      u32* const at = to + first_word(tile, part * (in_word * words)) + group * size;
#pragma unroll
      for (u32 word = 0; word < words; ++word) {
        u32 run[runs], row[runs];
#pragma unroll
        for (int i = 0; i < runs; ++i) run[i] = of[i].get(static_cast<int>(word));
        turn(run, row);
#pragma unroll
        for (u32 i = 0; i < in_word; ++i) {
#pragma unroll
          for (u32 w = 0; w < size; ++w) {
            at[(word * in_word + i) * tile.pitch + w] = row[i * size + w];
          }
        }
      }
    }
  }
};

/// Stores the bytes of a vector of B, 8 or 16, from `begin` on before `end`, which are the first or
/// the last ones: by words of 8, 4, 2 and 1 byte, as the L2 cache takes as long for each of them.
template <int B>
__device__ void store_ends(const u32 (&word)[B / 4], u32 begin, u32 end, char* to) {
  const bool are_last = begin > 0;
  const u32 parts = ((B - begin) | end) & (B - 1);  // a bit for each word
  const auto at = [&](u32 byte) {
    u32 found = word[0];
#pragma unroll
    for (u32 n = 1; n < B / 4; ++n) found = byte / 4 == n ? word[n] : found;
    return found;
  };
  /// Where the word of so many bytes is: larger ones are behind it, or before it.
  const auto place = [&](u32 bytes) {
    return are_last ? (begin + bytes - 1) & ~(bytes - 1) : end & ~(2 * bytes - 1);
  };
  const u32 rest = at(are_last ? begin : end), byte = place(1), half = place(2), four = place(4);
  if ((parts & 1) != 0) reinterpret_cast<u8&>(to[byte]) = static_cast<u8>(rest >> 8 * (byte & 3));
  if ((parts & 2) != 0) reinterpret_cast<u16&>(to[half]) = static_cast<u16>(rest >> 8 * (half & 3));
  if ((parts & 4) != 0) reinterpret_cast<u32&>(to[four]) = at(four);
  if constexpr (B == 16) {
    const u32 low = are_last ? word[2] : word[0], high = are_last ? word[3] : word[1];
    if ((parts & 8) != 0) reinterpret_cast<u64&>(to[place(8)]) = u64{high} << 32 | low;
  }
}

/// V elements that are stored as they were read: compilers would take the words apart otherwise.
template <class T, int V>
struct copied {
  static constexpr int width = V;
  packed<T, V> elements;

  __device__ void store(char* const* at) const {
    *reinterpret_cast<packed<T, V>*>(at[0]) = elements;
  }
  /// Stores the lanes from `begin` on before `end`.
  __device__ void store_part(int begin, int end, char* const* at) const {
    constexpr int size = sizeof(T), bytes = size * V;
    if (begin > 0 && end < V) {
      store_lanes<T, V>(reinterpret_cast<const char*>(&elements), begin, end, at[0]);
    } else if (end > 0) {
      store_ends<bytes>(elements.word, static_cast<u32>(begin > 0 ? begin * size : 0),
                        static_cast<u32>((end < V ? end : V) * size), at[0]);
    }
  }
};

}  // namespace quarry::kernels
