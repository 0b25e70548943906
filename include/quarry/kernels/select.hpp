// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/fixed.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/program.hpp>

/// The elements for which a predicate is true, on the CPU; the kernels of GPUs are in
/// kernels/select.cuh.
namespace quarry::kernels {

/// A run of `n` elements, with the operands of a map; `first` is the position of the first one.
struct select_loops {
  /// How many are kept.
  i64 (*count)(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
  /// Stores the values of the `kept` > 0 that there are; `rank` are kept before them.
  void (*store)(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first,
                i64 rank, i64 kept);
};

/// An element that has a rank in the place of its position.
struct ranked_context : run_context {
  i64 rank;
  i64 index() const { return rank; }
};

template <class E>
inline constexpr bool is_element = false;
template <class T, int K>
inline constexpr bool is_element<in<T, K>> = true;
template <class P>
inline constexpr bool is_mask = false;
template <int K>
inline constexpr bool is_mask<in<bool, K>> = true;

/// How many of `n` bytes are not 0.
inline i64 trues(const char* mask, i64 n) {
  constexpr u64 ones = ~u64{0} / 255;  // a 1 in every byte
  i64 count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    u64 word;
    __builtin_memcpy(&word, mask + i, 8);
    word |= word >> 4 & 15 * ones;
    word |= word >> 2 & 3 * ones;
    word |= word >> 1;
    count += static_cast<i64>((word & ones) * ones >> 56);
  }
  for (; i < n; ++i) count += mask[i] != 0 ? 1 : 0;
  return count;
}

template <class M>
struct cpu_select;

QUARRY_LOOPS_BEGIN
template <class P, class E, class Out, bool InPlace, int S, class... In>
struct cpu_select<select_of<P, E, Out, InPlace, S, In...>> {
  static constexpr int out = 1, inputs = 2;

  static i64 count(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first) {
    const run_context here{pointer + inputs, stride + inputs, scalars, 0, first};
    if (fixed<P>::in_run(here.stride)) return P{}(here) ? n : 0;
    if constexpr (is_mask<P>) {
      if (here.stride[plain_run<P>::input] == 1) return trues(here.pointer[plain_run<P>::input], n);
    }
    i64 kept = 0;
    for (i64 i = 0; i < n; ++i) {
      kept += P{}(run_context{here.pointer, here.stride, scalars, i, first}) ? 1 : 0;
    }
    return kept;
  }
  static void store(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first,
                    i64 rank, i64 kept) {
    const run_context all{pointer + inputs, stride + inputs, scalars, 0, first};
    const i64 end = rank + kept;
    if constexpr (!InPlace) {
      char* const to = pointer[out] + rank * static_cast<i64>(sizeof(Out));
      if (kept == n && copied_run<E, Out>(n, to, sizeof(Out), all)) return;
    }
    for (i64 i = 0; rank < end; ++i) {
      const run_context here{all.pointer, all.stride, scalars, i, first};
      if constexpr (InPlace) {
        if (!P{}(here)) continue;
        *reinterpret_cast<Out*>(pointer[out] + i * stride[out]) =
            convert<Out>(E{}(ranked_context{here, rank++}));
      } else if constexpr (is_mask<P> && is_element<E>) {  // no branch, of which half are wrong
        reinterpret_cast<Out*>(pointer[out])[rank] = convert<Out>(E{}(here));
        rank += P{}(here) ? 1 : 0;
      } else if (P{}(here)) {
        reinterpret_cast<Out*>(pointer[out])[rank++] = convert<Out>(E{}(here));
      }
    }
  }
  static constexpr select_loops loops{count, store};
};
QUARRY_LOOPS_END

template <class P, class E, class Out, bool InPlace, int S, class... In>
struct parts_of<select_of<P, E, Out, InPlace, S, In...>> {
  static constexpr family kind = family::select;
  static constexpr int scalars = S;
  using expression = several<P, E>;
  using types = operands_of<several<i64, Out>, In...>;
  using loops = cpu_select<select_of<P, E, Out, InPlace, S, In...>>;
};

}  // namespace quarry::kernels
