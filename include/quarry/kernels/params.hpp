// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// The parameter block of every GPU kernel: 64-bit words, so that plain host code packs it without
/// knowing the kernel's type. The operands are the outputs, then the inputs.
///   [kept] [reduced] [chunk] [pointer x K] [scalar x 2S] [shape x R] [stride x K*R]
/// `kept` is the number of elements of an output, `reduced` the number of those reduced into each
/// (1 in a map), of which a block of threads reduces `chunk`. The R axes are those of the outputs,
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

/// In rows of a strided map that are at least this long, warps begin at multiples of 128 bytes of
/// the first output; the first threads of a row may then be idle.
inline constexpr i64 lead_columns = 1024;

/// How many bins a block of bincount_private counts in its shared memory: the 48 KiB of every GPU.
inline constexpr i64 most_private_bins = 12288;

}  // namespace quarry::kernels
