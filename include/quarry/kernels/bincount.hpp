// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/cpu_context.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/program.hpp>

/// How often every value occurs: ++out[E(in[i]...)]. Here are the loops of the CPU; the kernels of
/// GPUs are in kernels/bincount.cuh.
namespace quarry::kernels {

/// Counts a run of `n` elements: input k starts at pointer[k] and advances by stride[k] bytes;
/// `first` is the position of the first element.
struct bincount_loops {
  void (*run)(i64* counts, i64 n, char* const* pointer, const i64* stride, const u64* scalars,
              i64 first);
};

template <class M>
struct cpu_bincount;

QUARRY_LOOPS_BEGIN
template <class E, int S, class... In>
struct cpu_bincount<bincount_of<E, S, In...>> {
  /// Elements whose bins are computed before they are counted; a fixed count, so that -O2 makes
  /// vector instructions of the first loop.
  static constexpr i64 block = 128;

  static void run(i64* counts, i64 n, char* const* pointer, const i64* stride, const u64* scalars,
                  i64 first) {
    const u64 bins = scalars[2 * (S - 1)];
    u64 bin[block];
    i64 i = 0;
    if (is_dense(stride, operands_of<i64, In...>::size + 1, sizeof...(In))) {
      for (; i + block <= n; i += block) {
        QUARRY_IVDEP
        for (i64 j = 0; j < block; ++j) {
          bin[j] = convert<u64>(E{}(dense_context{pointer, scalars, i + j, first}));
        }
        for (const u64 b : bin) {
          if (b < bins) ++counts[b];
        }
      }
    }
    for (; i < n; ++i) {
      const u64 b = convert<u64>(E{}(run_context{pointer, stride, scalars, i, first}));
      if (b < bins) ++counts[b];
    }
  }
  static constexpr bincount_loops loops{run};
};
QUARRY_LOOPS_END

template <class E, int S, class... In>
struct parts_of<bincount_of<E, S, In...>> {
  static constexpr family kind = family::bincount;
  static constexpr int scalars = S;
  using expression = E;
  using types = operands_of<i64, In...>;
  using loops = cpu_bincount<bincount_of<E, S, In...>>;
};

}  // namespace quarry::kernels
