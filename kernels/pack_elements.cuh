// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/total.cuh"
#include "kernels/vector.cuh"

/// Elements of one and two bytes whose bits are set, one behind another: by vectors of 16 bytes,
/// which take as long as a single element.
namespace quarry::kernels {

/// The input that an expression copies, of elements that are packed; -1 for others.
template <class E, class Out>
inline constexpr int packed_input = -1;
template <class T, int K>
requires((sizeof(T) == 1 || sizeof(T) == 2) &&
         !is_bool<T>) inline constexpr int packed_input<in<T, K>, T> = K;

/// In a row of 32 words with no more bits every lane looks for those of a word.
inline constexpr int few_bits = 96;

/// The memory that a warp shares: the elements of a row of 32 words, and what the row before has
/// left.
template <class T>
inline constexpr int packed_vectors = 32 * 32 * sizeof(T) / 16 + 1;

/// The 32 elements from number `first` on, of which there are n.
template <class T, int N>
__device__ void load_row(const T* from, i64 first, i64 n, aligned_words<16> (&words)[N]) {
  constexpr int size = sizeof(T);
  if (first + 32 <= n) {
#pragma unroll
    for (int k = 0; k < N; ++k)
      words[k] = reinterpret_cast<const aligned_words<16>*>(from + first)[k];
    return;
  }
#pragma unroll
  for (int b = 0; b < 32; ++b) {
    u32& word = words[b * size / 16].word[b * size / 4 % 4];
    if (b * size % 4 == 0) word = 0;
    if (first + b < n)
      word |= u32{bits_as<make_unsigned<T>>(from[first + b])} << (b * size % 4 * 8);
  }
}

/// Stores those of n elements whose bits are set to `to`, by a warp that has the words from `begin`
/// on before `end`. `from` is aligned to 16 bytes. Every lane has the elements of a word: they go
/// to shared memory, and from there by whole vectors.
template <class T>
__device__ void pack_elements(const T* from, i64 n, const u32* bits, i64 begin, i64 end, T* to,
                              aligned_words<16>* packed) {
  constexpr u32 every_lane = 0xffffffffu;
  constexpr int size = sizeof(T), each = 16 / size;
  const int lane = static_cast<int>(threadIdx.x % 32);
  T* const stage = reinterpret_cast<T*>(packed);
  // elements in the stage, and how many of them at the front are another warp's
  int filled = static_cast<int>(reinterpret_cast<u64>(to) % 16) / size, foreign = filled;
  to -= filled;
  const auto row = [&](i64 w) { return w + lane < end ? bits[w + lane] : 0; };
  u32 next = row(begin);
  for (i64 w = begin; w < end; w += 32) {
    const u32 own = next;
    next = row(w + 32);
    const i64 first = (w + lane) * 32;
    const int count = static_cast<int>(__popc(own)), up_to = sum_of_lanes(count);
    const int of_row = __shfl_sync(every_lane, up_to, 31, 32), all = filled + of_row;
    T* at = stage + filled + up_to - count;
    if (of_row <= few_bits) {
      for (u32 rest = own; rest != 0; rest &= rest - 1) *at++ = from[first + lowest_bit(rest)];
    } else {
      aligned_words<16> words[2 * size];
      if (own != 0) load_row(from, first, n, words);
      if (next != 0) prefetch(from + first + 32 * 32);
#pragma unroll
      for (int b = 0; b < 32; ++b) {
        const u32 word = words[b * size / 16].word[b * size / 4 % 4];
        if ((own >> b & 1) != 0)
          *at++ = bits_as<T>(static_cast<make_unsigned<T>>(word >> (b * size % 4 * 8)));
      }
    }
    __syncwarp();
    const int whole = all / each;
    for (int k = lane; k < whole; k += 32) {
      if (k > 0 || foreign == 0) {
        reinterpret_cast<aligned_words<16>*>(to)[k] = packed[k];
      } else {
        for (int e = foreign; e < each; ++e) to[e] = stage[e];
      }
    }
    filled = all - whole * each;
    T left = {};
    if (whole > 0 && lane < filled) left = stage[whole * each + lane];
    __syncwarp();
    if (whole > 0) {
      if (lane < filled) stage[lane] = left;
      to += whole * each, foreign = 0;
    }
    __syncwarp();
  }
  if (lane >= foreign && lane < filled) to[lane] = stage[lane];
}

}  // namespace quarry::kernels
