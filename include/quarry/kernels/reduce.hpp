// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/cpu_context.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/program.hpp>
#include <quarry/kernels/reducer.hpp>

/// Reductions of an expression over any axes on the CPU, reading the inputs once; the kernels of
/// GPUs are in kernels/reduce.cuh.
namespace quarry::kernels {

/// `begin` sets n accumulators to the identity. `run` adds n elements to one accumulator; `first`
/// is the position of the first of them among the reduced. `columns` adds one element, whose
/// position is `at`, to each of n accumulators. `merge` combines n accumulators of b into those of
/// a. `finish` writes n results, each of `count` elements. Accumulators have `accumulator_size`
/// bytes; `pointer` and `stride` are those of the inputs.
struct reduce_loops {
  u32 accumulator_size;
  void (*begin)(void* acc, i64 n);
  void (*run)(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars,
              i64 first);
  void (*columns)(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars,
                  i64 at);
  void (*merge)(void* a, const void* b, i64 n);
  void (*finish)(void* out, i64 out_stride, const void* acc, i64 n, i64 count, const u64* scalars);
};

/// The context of `finish`: the number of reduced elements, and the scalars of the call.
struct loop_total {
  i64 elements;
  const u64* scalars;
  i64 count() const { return elements; }
  template <class T, int S>
  T scalar() const {
    return *reinterpret_cast<const T*>(scalars + 2 * S);
  }
};

template <class M>
struct cpu_reduce;

QUARRY_LOOPS_BEGIN
template <class E, class Op, class Acc, class Out, int S, class... In>
struct cpu_reduce<reduction_of<E, Op, Acc, Out, S, In...>> {
  /// Reads element i of the run, which is at `position` among the reduced.
  template <class C>
  struct context : C {
    i64 position;
    i64 index() const { return position; }
  };
  struct elements {
    char* const* pointer;
    const i64* stride;
    const u64* scalars;
    i64 first;
    template <bool Dense>
    void add(Acc& a, i64 i) const {
      if constexpr (Dense) {
        Op::take(a, E{}(context<dense_context>{{pointer, scalars, i, 0}, first + i}), first + i);
      } else {
        Op::take(a, E{}(context<run_context>{{pointer, stride, scalars, i, 0}, first + i}),
                 first + i);
      }
    }
  };
  /// Accumulators of a block; a constant count, so that -O2 vectorizes.
  static constexpr i64 lanes = 32;

  static Acc* accumulators(void* acc) { return static_cast<Acc*>(acc); }
  static void begin(void* acc, i64 n) {
    for (i64 i = 0; i < n; ++i) accumulators(acc)[i] = Op::template identity<Acc>();
  }
  static bool is_dense_run(const i64* stride) {
    return is_dense(stride, operands_of<Out, In...>::size + 1, sizeof...(In));
  }

  template <bool Dense>
  static Acc fold_block(const elements& r, i64 begin, i64 end) {
    Acc lane[lanes];
    lane[0] = Op::template identity<Acc>();
    i64 i = begin;
    if (i + lanes <= end) {
      for (Acc& a : lane) a = Op::template identity<Acc>();
      for (; i + lanes <= end; i += lanes) {
        QUARRY_IVDEP
        for (i64 j = 0; j < lanes; ++j) r.template add<Dense>(lane[j], i + j);
      }
      for (i64 width = lanes / 2; width > 0; width /= 2) {
        for (i64 j = 0; j < width; ++j) lane[j] = Op::combine(lane[j], lane[j + width]);
      }
    }
    for (; i < end; ++i) r.template add<false>(lane[0], i);
    return lane[0];
  }
  /// Pairwise above blocks of 16 elements per accumulator: the rounding error grows with log n.
  template <bool Dense>
  static Acc fold(const elements& r, i64 begin, i64 end) {
    if (end - begin <= 16 * lanes) return fold_block<Dense>(r, begin, end);
    const i64 middle = begin + (end - begin) / 2 / lanes * lanes;
    return Op::combine(fold<Dense>(r, begin, middle), fold<Dense>(r, middle, end));
  }
  static void run(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars,
                  i64 first) {
    const elements r{pointer, stride, scalars, first};
    Acc& a = *accumulators(acc);
    a = Op::combine(a, is_dense_run(stride) ? fold<true>(r, 0, n) : fold<false>(r, 0, n));
  }
  static void columns(void* acc, i64 n, char* const* pointer, const i64* stride, const u64* scalars,
                      i64 at) {
    Acc* const a = accumulators(acc);
    i64 i = 0;
    if (is_dense_run(stride)) {
      for (; i + 16 <= n; i += 16) {
        Acc* const to = a + i;
        QUARRY_IVDEP
        for (i64 j = 0; j < 16; ++j) {
          Acc next = to[j];
          Op::take(next, E{}(context<dense_context>{{pointer, scalars, i + j, 0}, at}), at);
          to[j] = next;
        }
      }
    }
    for (; i < n; ++i) {
      Op::take(a[i], E{}(context<run_context>{{pointer, stride, scalars, i, 0}, at}), at);
    }
  }
  static void merge(void* a, const void* b, i64 n) {
    for (i64 i = 0; i < n; ++i) {
      accumulators(a)[i] = Op::combine(accumulators(a)[i], static_cast<const Acc*>(b)[i]);
    }
  }
  static void finish(void* out, i64 out_stride, const void* acc, i64 n, i64 count,
                     const u64* scalars) {
    for (i64 i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(static_cast<char*>(out) + i * out_stride) =
          Op::template finish<Out>(static_cast<const Acc*>(acc)[i], loop_total{count, scalars});
    }
  }
  static constexpr reduce_loops loops{sizeof(Acc), begin, run, columns, merge, finish};
};
QUARRY_LOOPS_END

template <class E, class Op, class Acc, class Out, int S, class... In>
struct parts_of<reduction_of<E, Op, Acc, Out, S, In...>> {
  static constexpr family kind = family::reduce;
  static constexpr int scalars = S;
  using expression = E;
  using types = operands_of<Out, In...>;
  using loops = cpu_reduce<reduction_of<E, Op, Acc, Out, S, In...>>;
};

}  // namespace quarry::kernels
