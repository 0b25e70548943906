// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>

namespace quarry::kernels {

/// The integer type of byte offsets and positions: 4 bytes where all of them fit, else 8.
template <int Bytes>
struct index_of_size {
  using type = i32;
};
template <>
struct index_of_size<8> {
  using type = i64;
};
template <int Bytes>
using index_of = typename index_of_size<Bytes>::type;

/// i / extent of positions, which are not negative: unsigned, in two thirds of the instructions.
template <class Index>
__device__ Index quotient(Index i, Index extent) {
  using Unsigned = make_unsigned<Index>;
  return static_cast<Index>(static_cast<Unsigned>(i) / static_cast<Unsigned>(extent));
}

/// The parameter block (quarry/kernels/params.hpp) of a kernel with K operands, S scalars, R axes.
template <int K, int S, int R>
struct params {
  static constexpr block_places at{K, S, R};
  u64 word[static_cast<u64>(at.words())];

  __device__ i64 kept() const { return static_cast<i64>(word[block_places::kept]); }
  __device__ i64 reduced() const { return static_cast<i64>(word[block_places::reduced]); }
  __device__ i64 chunk() const { return static_cast<i64>(word[block_places::chunk]); }
  __device__ u64 address(int k) const { return word[block_places::pointers + k]; }
  template <class T>
  __device__ T* pointer(int k) const {
    return reinterpret_cast<T*>(address(k));
  }
  template <class T>
  __device__ T scalar(int s) const {
    constexpr int first = at.scalars();
    return *reinterpret_cast<const T*>(&word[first + 2 * s]);
  }
  __device__ i64 extent(int d) const {
    constexpr int first = at.shape();
    return static_cast<i64>(word[first + d]);
  }
  __device__ i64 stride(int k, int d) const {
    constexpr int first = at.strides();
    return static_cast<i64>(word[first + k * R + d]);
  }
  /// One that fits 32 bits, of which products with 32-bit positions take one instruction.
  __device__ i32 short_stride(int k, int d) const {
    constexpr int first = at.strides();
    return *reinterpret_cast<const i32*>(&word[first + k * R + d]);
  }
};

/// Whether a map checks its positions: see quarry/kernels/params.hpp.
template <class P>
__device__ bool checks_itself(const P& p) {
  return p.reduced() != 1;
}

}  // namespace quarry::kernels
