// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// The parameter block of every GPU kernel: 64-bit words, so that plain host code packs it without
/// knowing the kernel's type. The operands are the outputs, then the inputs.
///   [kept] [reduced] [chunk] [pointer x K] [scalar x 2S] [shape x R] [stride x K*R]
/// `kept` is the number of elements of an output, `reduced` the number of those reduced into each
/// (1 in a map), of which a block of threads reduces `chunk`. Of maps that may
/// have side inputs `chunk` is the address of a 64-bit word, or 0: they write nothing if the word
/// is not 0. Of those that copy rows `reduced` may be the address of a counter of 32 bits: then
/// they check their positions, leave in the word of `chunk`, for the host, 0 if all are inside, and
/// write in any case; the counter is 0 before and afterwards. The R axes are those of the outputs,
/// then the reduced ones. Strides are in bytes, operand by operand. With R = 0, for a kernel that
/// needs no axes, the block ends before the shape.
namespace quarry::kernels {

/// The index of the first word of each part of the block.
struct block_places {
  static constexpr int kept = 0, reduced = 1, chunk = 2, pointers = 3;
  int operands, scalar_count, rank;

  QUARRY_HD constexpr int scalars() const { return pointers + operands; }
  QUARRY_HD constexpr int shape() const { return scalars() + 2 * scalar_count; }
  QUARRY_HD constexpr int strides() const { return shape() + rank; }
  QUARRY_HD constexpr int words() const { return strides() + operands * rank; }
};

/// Rows of outputs with fewer vectors than this are reduced by consecutive threads.
inline constexpr i64 short_row = 32;
/// Rows that reduce walks as one (kernels/reduce_body.cuh), in elements. The last kept axis has
/// several rows of `row` elements, which consist of groups of `group`; a group has as many elements
/// of each of `columns` outputs, one of each after another. `rest` elements are in rows that are
/// left over. Two words hold them, in place of the output's strides along the last kept and the
/// last reduced axis.
struct folded_rows {
  u32 columns, group, row, rest;

  QUARRY_HD constexpr i64 last_kept() const { return static_cast<i64>(u64{group} << 32 | columns); }
  QUARRY_HD constexpr i64 last_reduced() const { return static_cast<i64>(u64{rest} << 32 | row); }
  QUARRY_HD static constexpr folded_rows of(i64 last_kept, i64 last_reduced) {
    const u64 a = static_cast<u64>(last_kept), b = static_cast<u64>(last_reduced);
    return {static_cast<u32>(a), static_cast<u32>(a >> 32), static_cast<u32>(b),
            static_cast<u32>(b >> 32)};
  }
};
/// How many outputs, or vectors of outputs, a thread of reduce_few has, of so many bytes of inputs.
QUARRY_HD constexpr int few_groups(u64 bytes) {
  constexpr u64 enough = 32, most = 8;
  const u64 groups = bytes >= enough ? 1 : enough / bytes;
  return static_cast<int>(groups < most ? groups : most);
}

/// The vectors of 16 bytes that a warp of reduce_staged copies at once.
inline constexpr int stage_vectors = 128;

/// In rows of a strided map that are at least this long, warps begin at multiples of 128 bytes of
/// the first output; the first threads of a row may then be idle.
inline constexpr i64 lead_columns = 1024;

/// Bits of the order of blocks, in maps whose threads are along rows, which run from the first
/// column of the first row on. (In other maps it is `backwards` or not.) Backwards: the last rows
/// first, which are what the map before, in the other order, accessed last, so that they are still
/// in the L2 cache. Rows first: all rows of some columns, then those of the next ones, where rows
/// of an input are the same one; the grid has fewer than 2^32 blocks.
inline constexpr int blocks_backwards = 1, blocks_rows_first = 2;
/// Further bits, of kernels that may begin before the work ahead of them in the stream is done
/// (kernels/stream_order.cuh). Reads ahead: nothing that may still be running writes what the
/// kernel reads. Waits first: the kernels behind this one begin when all that is ahead of it is
/// done.
inline constexpr int order_reads_ahead = 4, order_waits_first = 8;

/// Divides integers below 2^31 by a constant of at most 2^31 with one multiplication (Granlund and
/// Montgomery, Division by Invariant Integers using Multiplication, 1994).
struct divisor {
  u32 constant = 1, magic = 0, shift = 0;

  QUARRY_HD static constexpr divisor by(u32 constant) {
    u32 shift = 0;
    while (u64{1} << shift < constant) ++shift;
    const u64 above = (u64{1} << shift) - constant;
    return {constant, static_cast<u32>((above << 32) / constant + (above > 0)), shift};
  }
  QUARRY_HD constexpr u32 quotient(u32 n) const {
    return (static_cast<u32>(u64{n} * magic >> 32) + n) >> shift;
  }
};

/// The second parameter of reduce_slabs: a stage has so many slabs, and `lanes` threads share an
/// output. How far apart slabs, rows and elements of a row are, in bytes. A block has two stages of
/// `slab_stage_bytes` in shared memory, of its 48 KiB.
struct slab_stages {
  divisor columns, lanes;
  u32 slabs;
  u32 slab_pitch, slab_bytes, row_pitch, unit;
};
inline constexpr int slab_threads = 256, slab_blocks = 5;  ///< blocks of a multiprocessor
inline constexpr u32 slab_stage_bytes = 20480;

inline constexpr int most_tiled_axes = 6;
/// Tiles write whole sectors of so many bytes, which the L2 cache has: parts of one cost as much.
inline constexpr u32 tile_sector = 32;

/// An axis that is cut into parts, one every `step` elements. The first `before` elements of a part
/// the part before it has too; the first part begins `before` elements before the axis. Tile t of
/// the grid has part t / every % parts.
struct tiled_axis {
  i64 extent = 1;
  divisor every, parts;
  divisor size;  ///< positions along the axis in a tile
  u32 step = 1, before = 0;
  u32 pitch = 0;  ///< how far apart elements are in shared memory
  u32 next = 0;   ///< positions from a row of a thread to its next one
  /// How far that one is in shared memory: along the first axis of the tile all of it, along others
  /// from the end of the axis to where the one before goes on.
  i32 next_place = 0;
};

/// How the tiles are walked in one order. The last axis varies fastest; a row is a tile's part of
/// it. Consecutive threads, 1 << lanes_log2 up to 256 of them, are along a row. If part of the last
/// axis has several rows, `row_step` elements apart, they are along the axis before it.
struct tile_walk {
  tiled_axis axis[most_tiled_axes];
  u32 rows, lanes_log2, row_step = 0;
};

/// One of the axes of which a row that is written consists, the first one varies fastest.
struct row_axis {
  divisor size;
  u32 pitch = 0;   ///< of elements of the tile that is read, unless it is turned
  i64 stride = 0;  ///< of the elements in the input, where tiles are turned
};
inline constexpr u32 most_row_elements = 1024;  ///< of a row of several axes

/// A tile of elements of one or two bytes that is turned while it is read. Each element of a row
/// that is written begins a run of the input, which has one element of every row. A thread reads
/// parts of `turned_part` bytes of `turned_runs` runs at once.
struct turned_tile {
  divisor parts;   ///< of a run
  u32 groups = 0;  ///< of turned_runs runs
  u32 pitch = 0;   ///< words of shared memory from a row to the next one
};
inline constexpr u32 turned_part = 16, turned_runs = 4, most_turned_runs = 320;
/// Bytes of shared memory: before the first row, between those of two parts, and of all.
inline constexpr u32 turned_front = 2 * tile_sector, turned_skew = 16, turned_bytes = 28672;

/// The second parameter of map_tiled: how tiles are read into shared memory, and written.
struct tiling {
  tile_walk read, write;
  row_axis row[most_tiled_axes];  ///< of rows of several axes, and where tiles are turned
  u32 row_axes = 0;
  turned_tile turned;
};

/// The most elements of a tile of `inputs`, the widest of which has `size` bytes, a power of two up
/// to 16.
QUARRY_HD constexpr u32 most_tile_elements(u32 size, u32 inputs) {
  return (inputs <= 2 ? 16384 : 8192) / size;
}
/// The elements that shared memory has for each of the inputs, with what lies between rows.
QUARRY_HD constexpr u32 tile_space(u32 size, u32 inputs) {
  const u32 most = most_tile_elements(size, inputs);
  return most + most * 3 / 8;
}
/// Of the 48 KiB of shared memory of every GPU, without what lists of places take.
inline constexpr u32 most_tile_bytes = 45056;

inline constexpr int select_threads = 512;
/// The words of 32 bits that one block has for all elements of a small selection, each of its warps
/// 32 of them.
inline constexpr int select_words = select_threads;
inline constexpr int select_row_bytes = 4096;  ///< of longer rows a warp would have too many
enum class select_pass : i32 { both, first, second };
/// What the passes of a selection leave for each other.
struct select_marks {
  u32* bits;          ///< one for each element; nullptr: in shared memory, with one block
  i64* counts;        ///< how many elements each block keeps
  i64 words_of_warp;  ///< of bits; a multiple of the vectors' width
  select_pass pass;
  bool rows;  ///< there is a bit for a row: see select.cuh
};

/// How many vectors a thread of map_flat has where it stores chosen elements only, of which the
/// inputs have `bytes` bytes in a vector: these are all that most threads access.
QUARRY_HD constexpr int chosen_vectors(int bytes) {
  return bytes < 3 ? 8 : bytes < 5 ? 4 : bytes < 9 ? 2 : 1;
}

/// The second parameter of map_masked_rows: a warp has some groups of 32 rows, of which there are
/// `most_row_groups` at most, or shares one group with others; or with 0 groups a thread has
/// `chosen_row_vectors` vectors of the output.
inline constexpr int most_row_groups = 4, chosen_row_vectors = 4;
struct masked_rows {
  i32 groups, sharers;
};

/// Vectors that a thread of map_scatter_singles has, and one of map_across that copies rows.
inline constexpr int scatter_vectors = 4, across_copies = 4;

/// map_parted: threads of a block, and in how many tiles a warp accesses a part.
inline constexpr int parted_threads = 512, parted_runs = 4;
/// What singles_of says of an expression.
enum class single_access : u8 {
  none,
  read,     ///< once (picks.hpp)
  replace,  ///< writes it
  mark      ///< sets a bit
};
/// How many elements, of so many bytes, a block sorts by part at once. Those that are written take
/// registers, beside their places.
QUARRY_HD constexpr int parted_tile(u64 size, single_access access) {
  return size > 8 ? 2048 : size > 4 || access == single_access::replace ? 4096 : 8192;
}
inline constexpr u32 most_parts = 512;
inline constexpr u32 most_marks_log2 = 18;  ///< in a part: shared memory has a bit for each
enum class parted_step : i32 { partition, access, restore };
/// The second parameter of map_parted: the parts of the side operand, and what the steps leave for
/// each other. Every tile has as much memory as a whole one.
struct parted {
  u32* places;   ///< of the operand's elements, those of each tile by part
  u16* slots;    ///< where among those of its tile the place of an element of the map is
  void* values;  ///< the elements at these places
  u32* runs;     ///< [part][tile]: where in the tile a part begins, 65536 times how many places it
                 ///< has; behind all parts, whether the first step has done the whole tile
  i64 first, tiles;  ///< bytes before the operand's first place; tiles of the map
  u64 bytes;         ///< of all places
  u32 shift, count;  ///< parts have 1 << shift elements; parts
  u32 resident;      ///< so many parts the cache has, whatever the order: they are not sorted
  parted_step step;
};

/// How many bins a block of bincount_private counts in its shared memory: the 48 KiB of every GPU.
inline constexpr i64 most_private_bins = 12288;

}  // namespace quarry::kernels
