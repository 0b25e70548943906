// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/program.hpp>
#include <quarry/kernels/statistics.hpp>

/// Reductions of an expression over any axes on the CPU, reading the inputs once; the kernels of
/// GPUs are in kernels/reduce.cuh.
namespace quarry::kernels {

/// What a reducer does with values that lie side by side, in rows that are `step` bytes apart; the
/// library has these loops for every reducer and type of accumulator. `begin` starts n
/// accumulators, `merge` folds n others into them. `rows` folds n > 0 values of each row into an
/// accumulator of its own; `first` is the position of the first one among the reduced. For
/// `columns` n accumulators lie side by side, and each takes a value of every row; those of the
/// first row have position `at`, those of the next `at` + 1. There is one for each length of
/// vectors: 16, 32 and 64 bytes.
struct fold_loops {
  u32 accumulator_size, value_size;
  void (*begin)(void* acc, i64 n);
  void (*merge)(void* a, const void* b, i64 n);
  void (*rows[3])(void* acc, i64 rows, i64 n, const void* values, i64 step, i64 first);
  void (*columns[3])(void* acc, i64 n, const void* values, i64 rows, i64 step, i64 at);
};
template <class Reducer, class Acc>
struct folds {
  static const fold_loops loops;
};

/// `values` computes the values from the inputs, unless the values are those of the only input.
struct value_loops {
  const fold_loops* fold;
  const map_loops* values;
  bool are_input;       ///< the values are the only input
  bool have_positions;  ///< they depend on where they are among the reduced
};

/// `finish` writes the results of n accumulators of `count` elements each.
struct reduce_loops : value_loops {
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

/// The reducer without what is applied to its result.
template <class R>
struct reducer_alone {
  using type = R;
};
template <class R, class T, class E>
struct reducer_alone<applied_to<R, T, E>> : reducer_alone<R> {};

/// Whether an expression depends on the position of its element.
template <class E>
inline constexpr bool has_position = false;
template <class T>
inline constexpr bool has_position<iota<T>> = true;
template <class T, class A>
inline constexpr bool has_position<cast<T, A>> = has_position<A>;
template <class F, class L, class... A>
inline constexpr bool has_position<op<F, L, A...>> = (has_position<A> || ...);
template <class F, class... A>
inline constexpr bool has_position<call<F, A...>> = (has_position<A> || ...);
template <index_mode Mode, int S, class I>
inline constexpr bool has_position<place<Mode, S, I>> = has_position<I>;
template <class T, int K, class... Places>
inline constexpr bool has_position<pick<T, K, Places...>> = (has_position<Places> || ...);

template <class M>
struct cpu_reduce;

QUARRY_LOOPS_BEGIN
template <class E, class Op, class Acc, class Out, int S, class... In>
struct cpu_reduce<reduction_of<E, Op, Acc, Out, S, In...>> {
  using Reducer = typename reducer_alone<Op>::type;
  using Value = typename value_of<Acc>::type;
  /// The bytes of bools are normalised on the way, for all but these.
  static constexpr bool takes_bytes = is_same<Reducer, any_of> || is_same<Reducer, all_of>;

  static void finish(void* out, i64 out_stride, const void* acc, i64 n, i64 count,
                     const u64* scalars) {
    for (i64 i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(static_cast<char*>(out) + i * out_stride) =
          Op::template finish<Out>(static_cast<const Acc*>(acc)[i], loop_total{count, scalars});
    }
  }
  static constexpr reduce_loops loops{
      {&folds<Reducer, Acc>::loops, &cpu_map<map_of<E, Value, S, In...>>::loops,
       is_same<E, in<Value, 0>> && (takes_bytes || !is_bool<Value>), has_position<E>},
      finish};
};
QUARRY_LOOPS_END

template <class E, class Op, class Acc, class Out, int S, class... In>
struct parts_of<reduction_of<E, Op, Acc, Out, S, In...>> {
  static constexpr family kind = family::reduce;
  static constexpr int scalars = S;
  using expression = several<E, Op>;
  using types = operands_of<Out, In...>;
  using loops = cpu_reduce<reduction_of<E, Op, Acc, Out, S, In...>>;
};

}  // namespace quarry::kernels
