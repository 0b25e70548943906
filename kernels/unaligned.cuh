// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/vector.cuh"

/// Vectors of elements that begin at any element: the aligned words that have them are read, and
/// shifted in registers.
namespace quarry::kernels {

/// Moves the N words that begin `bytes` bytes behind the first of 2 * N words to the front. `bytes`
/// is less than 4 * N, and a multiple of Unit.
template <int N, u32 Unit>
__device__ void move_to_front(u32* word, u32 bytes) {
#pragma unroll
  for (int by = N / 2; by > 0 && 4 * by >= static_cast<int>(Unit); by /= 2) {
    const bool moves = (bytes & (4u * static_cast<u32>(by))) != 0;
#pragma unroll
    for (int i = 0; i < N + by; ++i) word[i] = moves ? word[i + by] : word[i];
  }
  if constexpr (Unit < 4) {
    const u32 bits = 8 * (bytes & 3);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      word[i] = static_cast<u32>((u64{word[i + 1]} << 32 | word[i]) >> bits);
    }
  }
}

/// V elements as the words that have them: compilers keep whole words in registers, where they take
/// bytes apart that are elements of a vec.
template <class T, int V, bool Words = (sizeof(T) * V >= 4)>
struct packed {
  static constexpr int words = static_cast<int>(sizeof(T) * V / 4);
  alignas(sizeof(T) * V) u32 word[words];
  __device__ T get(int lane) const {
    return kernels::load<T>(reinterpret_cast<const char*>(word) + lane * sizeof(T));
  }
};
template <class T, int V>
struct packed<T, V, false> {
  vec<T, V> v;
  __device__ T get(int lane) const { return kernels::load<T>(&v.v[lane]); }
};

template <class I>
__device__ I between(I i, I least, I most) {
  return i < least ? least : i > most ? most : i;
}

/// V elements of T, up to 16 bytes, of a row that has `end` bytes: those from byte `from` on. The
/// ones that the row does not have are any values: only words are read that have some of the row.
template <class T, int V, class Index>
__device__ packed<T, V> read_unaligned(const char* row, Index from, Index end) {
  constexpr Index size = sizeof(T), bytes = size * V, mask = ~(bytes - 1);
  packed<T, V> result;
  if constexpr (bytes < 4) {
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      const Index at = between<Index>(from + lane * size, 0, end - size);
      reinterpret_cast<vec<T, 1>*>(&result)[lane] = *reinterpret_cast<const vec<T, 1>*>(row + at);
    }
  } else {
    constexpr int count = packed<T, V>::words;
    using Words = aligned_words<static_cast<u64>(bytes)>;
    const Index before = static_cast<Index>(reinterpret_cast<u64>(row) & (bytes - 1));
    const Index first = from + before, last = (end - 1 + before) & mask;
    const u32 shift = static_cast<u32>(first) & static_cast<u32>(bytes - 1);
    const auto read_at = [&](Index place) {
      return *reinterpret_cast<const Words*>(row - before + between<Index>(place, 0, last));
    };
    const Words a = read_at(first & mask);
    Words b = a;
    if (shift != 0) b = read_at((first & mask) + bytes);
    u32 word[2 * count];
#pragma unroll
    for (int i = 0; i < count; ++i) word[i] = a.word[i], word[count + i] = b.word[i];
    move_to_front<count, sizeof(T)>(word, shift);
#pragma unroll
    for (int i = 0; i < count; ++i) result.word[i] = word[i];
  }
  return result;
}

/// The context (node.hpp) of one lane of the vectors that `Inputs` has loaded, by its function
/// loaded_at<K>(inputs, lane).
template <class P, class Inputs>
struct vector_context {
  const P& p;
  Inputs& in;
  i64 position;
  int lane;
  template <class T, int K>
  __device__ T input() const {
    return loaded_at<K>(in, lane);
  }
  /// Of side operands, by their function side_at<K>(inputs, lane, offset).
  template <class T, int K>
  __device__ T input_at(i64 offset) const {
    return side_at<K>(in, lane, offset);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
  __device__ i64 index() const { return position; }
};

}  // namespace quarry::kernels
