// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/packed.cuh"
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

/// The vector that begins `bytes` bytes behind the first of two that lie side by side.
template <class T, int V, class Words>
__device__ packed<T, V> shifted(const Words& a, const Words& b, u32 bytes) {
  constexpr int count = packed<T, V>::words;
  u32 word[2 * count];
#pragma unroll
  for (int i = 0; i < count; ++i) word[i] = a.word[i], word[count + i] = b.word[i];
  move_to_front<count, sizeof(T)>(word, bytes);
  packed<T, V> result;
#pragma unroll
  for (int i = 0; i < count; ++i) result.word[i] = word[i];
  return result;
}

template <class I>
__device__ I between(I i, I least, I most) {
  return i < least ? least : i > most ? most : i;
}

/// The 32 bits behind the first `bits` of two words, modulo 32.
inline __device__ u32 bits_behind(u32 low, u32 high, u32 bits) {
#ifdef __CUDA_ARCH__
  return __funnelshift_r(low, high, bits);
#else
  return static_cast<u32>((u64{high} << 32 | low) >> (bits & 31));
#endif
}

/// The 16 bytes that begin `bits` behind a word, less than 32, or with it unless they are Shifted.
template <class Access, bool Shifted>
__device__ Access read_behind(const u32* from, u32 bits) {
  u32 word[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) word[i] = from[i];
  if constexpr (Shifted) {
    const u32 last = from[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) word[i] = bits_behind(word[i], i < 3 ? word[i + 1] : last, bits);
  }
  Access in;
  static_assert(sizeof in == sizeof word);
  memcpy(static_cast<void*>(&in), word, sizeof in);
  return in;
}

/// Reads a word if a > b: one instruction with a predicate. Of several words compilers make
/// branches, and compute the addresses in each of them.
template <class Word>
__device__ void read_if_above(Word& word, const Word* at, i32 a, i32 b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Word) == 4) {
    asm volatile("{.reg .pred p;\nsetp.gt.s32 p, %2, %3;\n@p ld.global.u32 %0, [%1];}"
                 : "+r"(word)
                 : "l"(at), "r"(a), "r"(b));
    return;
  } else if constexpr (sizeof(Word) == 8) {
    asm volatile("{.reg .pred p;\nsetp.gt.s32 p, %2, %3;\n@p ld.global.u64 %0, [%1];}"
                 : "+l"(word)
                 : "l"(at), "r"(a), "r"(b));
    return;
  }
#endif
  if (a > b) word = *at;
}

/// The words that have the V elements of T, up to 16 bytes, of a vector that begins at any element:
/// of 4 or 8 bytes, where it has as many. They take fewer registers than the two vectors of 16
/// bytes that would have them, and less shifting, so that more of them are in flight.
template <class T, int V>
struct unaligned_words {
  static constexpr i32 size = sizeof(T), bytes = size * V;
  static constexpr i32 unit = size > 8 ? 8 : size < 4 && bytes >= 4 ? 4 : size;
  static constexpr bool begins_in_word = unit > size;  ///< not with one
  static constexpr i32 none = -unit;                   ///< an end before which no word begins
  static constexpr int count = bytes / unit + (begins_in_word ? 1 : 0);
  using Word = typename unsigned_of<unit>::type;
  Word word[count];  ///< any values before they are read
  u32 bits = 0;      ///< of the first word that are before the vector, and any multiple of its bits

#ifndef __CUDA_ARCH__
  __device__ unaligned_words() {
    for (Word& w : word) w = static_cast<Word>(0xa5a5a5a5a5a5a5a5);
  }
#endif

  /// Reads the words that have some of the bytes from `first` on before byte `past` of the vector
  /// at `at`; the others are 0.
  __device__ void read(const char* at, i32 first, i32 past) {
    const i32 before = begin(reinterpret_cast<u64>(at));
    const auto* const words = reinterpret_cast<const Word*>(at - before);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const i32 begin = i * unit - before;
      word[i] = 0;
      if (begin + unit > first && begin < past) word[i] = words[i];
    }
  }
  /// Reads those of the bytes before `past`, which may be none; the others stay as they are.
  __device__ void read_first(u64 at, i32 past) {
    past += begin(at);
#pragma unroll
    for (int i = 0; i < count; ++i) read_if_above(word[i], word_at(at, i), past, i * unit);
  }
  /// The same of the bytes from `first` on, which is in the vector.
  __device__ void read_last(u64 at, i32 first) {
    const i32 before = begin(at);
    first += before;
#pragma unroll
    for (int i = 0; i < bytes / unit; ++i)
      read_if_above(word[i], word_at(at, i), (i + 1) * unit, first);
    if constexpr (begins_in_word) read_if_above(word[count - 1], word_at(at, count - 1), before, 0);
  }
  __device__ packed<T, V> vector() const {
    packed<T, V> result;
    if constexpr (begins_in_word) {
#pragma unroll
      for (int i = 0; i + 1 < count; ++i) {
        result.word[i] = bits_behind(word[i], word[i + 1], bits);
      }
    } else {
      memcpy(static_cast<void*>(&result), word, sizeof(result));
    }
    return result;
  }

 private:
  /// How many bytes the first word has before the vector.
  __device__ i32 begin(u64 at) {
    bits = 8 * static_cast<u32>(at);
    return begins_in_word ? static_cast<i32>(at & 3) : 0;
  }
  static __device__ const Word* word_at(u64 at, int i) {
    return reinterpret_cast<const Word*>(begins_in_word ? at & ~u64{3} : at) + i;
  }
};

/// The V elements of T, up to 16 bytes, at `at`, of which those from byte `first` on before byte
/// `past` are there. The others are any values: only words are read that have some of those.
template <class T, int V>
__device__ packed<T, V> read_part(const char* at, i32 first, i32 past) {
  unaligned_words<T, V> words;
  words.read(at, first, past);
  return words.vector();
}

/// Loads those of `loaded` whose vectors begin at any element.
template <int V, unsigned Wide, int K>
__device__ void load_unaligned(loaded<V, Wide, K>& /*in*/, const char* const* /*at*/) {}
template <int V, unsigned Wide, int K, class T, class... Rest>
__device__ void load_unaligned(loaded<V, Wide, K, T, Rest...>& in, const char* const* at) {
  if constexpr (loaded<V, Wide, K, T, Rest...>::read > 1) {
    const packed<T, V> vector = read_part<T, V>(at[K], 0, sizeof(T) * V);
    memcpy(static_cast<void*>(&in.r), &vector, sizeof in.r);
  } else {
    in.r = *reinterpret_cast<const vec<T, 1>*>(at[K]);
  }
  load_unaligned(static_cast<loaded<V, Wide, K + 1, Rest...>&>(in), at);
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
    result = shifted<T, V>(a, b, shift);
  }
  return result;
}

/// The first `lanes` elements of a, then those of b.
template <class T, int V>
__device__ packed<T, V> joined(const packed<T, V>& a, const packed<T, V>& b, i32 lanes) {
  packed<T, V> result;
  if constexpr (sizeof(result) < 4) {
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      reinterpret_cast<vec<T, 1>*>(&result)[lane] =
          reinterpret_cast<const vec<T, 1>*>(lane < lanes ? &a : &b)[lane];
    }
  } else {
#pragma unroll
    for (int i = 0; i < packed<T, V>::words; ++i) {
      const i32 bits = 8 * static_cast<i32>(sizeof(T)) * lanes - 32 * i;
      const u32 of_b = bits_from(bits < 0 ? 0 : bits);
      result.word[i] = (a.word[i] & ~of_b) | (b.word[i] & of_b);
    }
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
