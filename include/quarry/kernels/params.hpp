// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// The parameter block of every GPU kernel: 64-bit words, so that plain host code packs it without
/// knowing the kernel's type. The operands are the outputs, then the inputs.
///   [kept] [reduced] [chunk] [pointer x K] [scalar x 2S] [shape x R] [stride x K*R]
/// The R axes are the kept ones, along which the outputs lie, then the reduced ones; `kept` and
/// `reduced` count their positions, and a block of threads takes `chunk` of the reduced ones. A map
/// reduces nothing. Strides are in bytes, those of one operand after those of another. The words
/// before the shape are the block of a kernel that needs no axes (R = 0).
namespace quarry::kernels {

/// Where the parts of a block begin.
struct block_places {
  static constexpr int kept = 0, reduced = 1, chunk = 2, pointers = 3;
  int operands, scalar_count, rank;

  QUARRY_HD constexpr int scalars() const { return pointers + operands; }
  QUARRY_HD constexpr int shape() const { return scalars() + 2 * scalar_count; }
  QUARRY_HD constexpr int strides() const { return shape() + rank; }
  QUARRY_HD constexpr int words() const { return strides() + operands * rank; }
};

/// Rows of a strided map that are at least this long are cut at multiples of 128 bytes of the
/// first output; the first threads of a row may then have nothing to do.
inline constexpr i64 lead_columns = 1024;

}  // namespace quarry::kernels
