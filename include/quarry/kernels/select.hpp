// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/cpu_context.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/program.hpp>

/// The elements for which a predicate is true, on the CPU; the kernels of GPUs are in
/// kernels/select.cuh.
namespace quarry::kernels {

/// A run of `n` elements, with the operands of a map; `first` is the position of the first one.
struct select_loops {
  /// How many are kept.
  i64 (*count)(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
  /// Stores their values; `rank` are kept before them.
  void (*store)(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first,
                i64 rank);
};

/// An element that has a rank in the place of its position.
struct ranked_context : run_context {
  i64 rank;
  i64 index() const { return rank; }
};

template <class M>
struct cpu_select;

QUARRY_LOOPS_BEGIN
template <class P, class E, class Out, bool InPlace, int S, class... In>
struct cpu_select<select_of<P, E, Out, InPlace, S, In...>> {
  static constexpr int out = 1, inputs = 2;

  static i64 count(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first) {
    i64 kept = 0;
    for (i64 i = 0; i < n; ++i) {
      kept += P{}(run_context{pointer + inputs, stride + inputs, scalars, i, first}) ? 1 : 0;
    }
    return kept;
  }
  static void store(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first,
                    i64 rank) {
    for (i64 i = 0; i < n; ++i) {
      const run_context here{pointer + inputs, stride + inputs, scalars, i, first};
      if (!P{}(here)) continue;
      if constexpr (InPlace) {
        *reinterpret_cast<Out*>(pointer[out] + i * stride[out]) =
            convert<Out>(E{}(ranked_context{here, rank}));
      } else {
        reinterpret_cast<Out*>(pointer[out])[rank] = convert<Out>(E{}(here));
      }
      ++rank;
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
