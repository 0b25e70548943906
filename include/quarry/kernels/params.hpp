// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

/// One parameter block for every kernel and for the CPU loops: 64-bit words, so that plain host
/// code packs it without knowing the kernel's type. Operand 0 is the output.
///   map:     [n] [pointer x K] [scalar x 2S] [shape x R] [stride x K*R]
///   reduce:  [kept] [reduced] [chunk] [pointer x K] [scalar x 2S] [shape x R] [stride x K*R]
/// where R counts the kept axes, which come first, and the reduced ones. Strides are in bytes,
/// those of one operand after those of another. A flat map has R = 0.
namespace quarry::kernels {

/// Rows of a strided map that are at least this long are cut at multiples of 128 bytes of the
/// output; the first threads of a row may then have nothing to do.
inline constexpr i64 lead_columns = 1024;

template <int K, int S, int R, int Head = 1>
struct params {
  static constexpr int pointers = Head, scalars = Head + K, shape = scalars + 2 * S;
  static constexpr int strides = shape + R, words = strides + K * R;
  u64 word[static_cast<u64>(words)];

  template <class T>
  QUARRY_HD T* pointer(int k) const {
    return reinterpret_cast<T*>(word[pointers + k]);
  }
  template <class T>
  QUARRY_HD T scalar(int s) const {
    return *reinterpret_cast<const T*>(&word[scalars + 2 * s]);
  }
  QUARRY_HD i64 extent(int d) const { return static_cast<i64>(word[shape + d]); }
  QUARRY_HD i64 stride(int k, int d) const { return static_cast<i64>(word[strides + k * R + d]); }
};

}  // namespace quarry::kernels
