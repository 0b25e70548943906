// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/scatter.hpp>

#include "kernels/map.cuh"

/// Maps whose output is a side operand, on GPUs.
namespace quarry::kernels {

template <class T>
__device__ T compare_and_swap(T* at, T expected, T desired) {
  if constexpr (sizeof(T) == 8) {
    return static_cast<T>(atomicCAS(reinterpret_cast<unsigned long long*>(at),
                                    static_cast<unsigned long long>(expected),
                                    static_cast<unsigned long long>(desired)));
  } else {
    return static_cast<T>(atomicCAS(at, expected, desired));
  }
}

template <u64 Size>
struct swapped_word {
  using type = u32;
};
template <>
struct swapped_word<8> {
  using type = u64;
};

/// The bits of an element as part of the word that is around it.
template <class T>
struct word_around {
  using Word = typename swapped_word<sizeof(T)>::type;
  Word* at;
  int shift;
  __device__ explicit word_around(T* element) {
    const u64 address = reinterpret_cast<u64>(element);
    at = reinterpret_cast<Word*>(address / sizeof(Word) * sizeof(Word));
    shift = static_cast<int>(address % sizeof(Word)) * 8;
  }
  __device__ T get(Word word) const {
    const Word bits = word >> shift;
    T element;
    memcpy(static_cast<void*>(&element), &bits, sizeof(T));
    return element;
  }
  __device__ Word with(Word word, T element) const {
    Word bits = 0;
    memcpy(&bits, static_cast<const void*>(&element), sizeof(T));
    constexpr Word ones = static_cast<Word>(~Word{0}) >> (8 * (sizeof(Word) - sizeof(T)));
    return (word & ~(ones << shift)) | bits << shift;
  }
};

template <class F>
inline constexpr bool is_sum = is_same<F, added> || is_same<F, combined<add_op>>;

/// Whether most values are more than what is there: the later ones are the larger ones.
template <class E>
inline constexpr bool is_mostly_more = false;
template <class F, class V, class... Places>
inline constexpr bool is_mostly_more<into<F, V, Places...>> = rises<V>;

/// By one instruction, whose result nobody waits for, where the GPU has it. `first` is the first
/// element of the operand.
template <class E, class T>
__device__ void combine_at(T* at, T value, T* first) {
  using F = typename E::meeting;
  if constexpr (is_same<F, replaced>) {
    *at = value;
  } else if constexpr (is_same<F, marked>) {
    if ((atomicOr(at, value) & value) != 0) *first = 1;
  } else if constexpr (is_same<F, largest> && is_same<T, i64>) {
    if (!is_mostly_more<E> && *const_cast<volatile T*>(at) >= value) return;
    atomicMax(reinterpret_cast<long long*>(at), static_cast<long long>(value));
  } else if constexpr (is_same<F, largest> && is_same<T, i32>) {
    if (!is_mostly_more<E> && *const_cast<volatile T*>(at) >= value) return;
    atomicMax(at, value);
  } else if constexpr (is_sum<F> && is_integer<T> && sizeof(T) == 8) {
    using Word = unsigned long long;
    if (value != 0) atomicAdd(reinterpret_cast<Word*>(at), static_cast<Word>(value));
  } else if constexpr (is_sum<F> && is_integer<T> && sizeof(T) == 4) {
    if (value != 0) atomicAdd(reinterpret_cast<u32*>(at), static_cast<u32>(value));
  } else {
    const word_around<T> around(at);
    auto seen = *const_cast<volatile typename word_around<T>::Word*>(around.at);
    for (;;) {
      const auto wanted = around.with(seen, F::apply(around.get(seen), value));
      if (wanted == seen) return;
      const auto was = compare_and_swap(around.at, seen, wanted);
      if (was == seen) return;
      seen = was;
    }
  }
}

/// Lanes at one place are written as a vector.
template <int V, class E, class T, int First, int Axes>
struct computed<V, E, side<T, First, Axes>> {
  static constexpr int width = V;
  vec<T, V> v;
  i64 offset[V];
  bool is_written[V];
  template <class C>
  __device__ void set(int lane, const C& c) {
    is_written[lane] = E::is_written(c);
    offset[lane] = E::offset(c);
    v.v[lane] = convert<T>(E::value(c));
  }
  __device__ void store(char* const* at) const {
    using F = typename E::meeting;
    bool is_one = V > 1 && is_same<F, replaced>;
#pragma unroll
    for (int lane = 1; lane < V; ++lane) {
      is_one = is_one && offset[lane] == offset[0] && is_written[lane] == is_written[0];
    }
    if (is_one) {
      if (is_written[0]) *reinterpret_cast<vec<T, V>*>(at[0] + offset[0]) = v;
      return;
    }
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      if (is_written[lane])
        combine_at<E>(reinterpret_cast<T*>(at[0] + offset[lane]) + lane, v.v[lane],
                      reinterpret_cast<T*>(at[0]));
    }
  }
};

/// As map_strided.
template <class M, int R, int IndexBytes, int Rows, int V = 1, unsigned Wide = 0>
__global__ void __launch_bounds__(256)
    map_scatter(const __grid_constant__
                typename map_strided_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::param_type p,
                int order) {
  wait_for_stream();
  map_strided_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::run(p, order);
}

}  // namespace quarry::kernels
