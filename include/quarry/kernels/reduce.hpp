// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/program.hpp>
#include <quarry/kernels/statistics.hpp>

/// Reductions of an expression over any axes on the CPU, reading the inputs once; the kernels of
/// GPUs are in kernels/reduce.cuh.
namespace quarry::kernels {

/// What a reducer does with values that lie side by side, in rows that are `step` bytes apart; the
/// library has these loops for every reducer and type of accumulator, and for what folds_narrow
/// says. `begin` starts n accumulators, `merge` folds n others into them. `rows` folds n > 0 values
/// of each row into an accumulator of its own; `first` is the position of the first one among the
/// reduced. For `columns` n accumulators lie side by side, and each takes a value of every row;
/// those of the first row have position `at`, those of the next `at` + 1. There is one for each
/// length of vectors: 16, 32 and 64 bytes.
struct fold_loops {
  u32 accumulator_size, value_size;
  void (*begin)(void* acc, i64 n);
  void (*merge)(void* a, const void* b, i64 n);
  void (*rows[3])(void* acc, i64 rows, i64 n, const void* values, i64 step, i64 first);
  void (*columns[3])(void* acc, i64 n, const void* values, i64 rows, i64 step, i64 at);
};
template <class Reducer, class Acc, class Value = typename value_of<Acc>::type>
struct folds {
  static const fold_loops loops;
};

/// Whether there is a fold of values V that are narrower than those of the accumulator: sums of
/// integers and bools.
template <class Reducer, class Acc, class V>
inline constexpr bool folds_narrow = false;
template <class V>
inline constexpr bool folds_narrow<sum_of, i64, V> = sizeof(V) < 8 &&
                                                     (is_bool<V> ||
                                                      (is_integer<V> && is_signed<V>));
template <class V>
inline constexpr bool folds_narrow<sum_of, u64, V> = sizeof(V) < 8 && is_integer<V> &&
                                                     !is_signed<V>;
template <class V>
inline constexpr bool folds_narrow<mean_of, double, V> =
    folds_narrow<sum_of, i64, V> || folds_narrow<sum_of, u64, V>;

/// The values that are folded for a reduction of E: its own, or those that it converts, if there is
/// a fold of them.
template <class E, class Reducer, class Acc>
struct folded {
  using expression = E;
  using value = typename value_of<Acc>::type;
};
template <class E>
using value_in_loop = value_in<E, run_context>;
template <class E, class Reducer, class Acc>
requires(folds_narrow<Reducer, Acc, value_in_loop<E>>) struct folded<E, Reducer, Acc> {
  using expression = E;
  using value = value_in_loop<E>;
};
template <class A, class Reducer, class Acc>
requires(folds_narrow<Reducer, Acc, value_in_loop<A>>) struct folded<cast<Acc, A>, Reducer, Acc> {
  using expression = A;
  using value = value_in_loop<A>;
};

/// `values` computes the values from the inputs, unless the values are those of the only input.
struct value_loops {
  const fold_loops* fold;
  const map_loops* values;
  bool are_input;       ///< the values are the only input
  bool have_positions;  ///< they depend on where they are among the reduced
};

/// `finish` writes the results of n accumulators of `count` elements each. Those of a GPU's kernels
/// have `kernel_accumulator` bytes, at most as many as these.
struct reduce_loops : value_loops {
  void (*finish)(void* out, i64 out_stride, const void* acc, i64 n, i64 count, const u64* scalars);
  bool finds_positions;  ///< results are positions
  u32 kernel_accumulator;
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
  using Folded = folded<E, Reducer, Acc>;
  using Value = typename Folded::value;
  using Values = typename Folded::expression;
  /// The bytes of bools are normalised on the way, but for reducers that do it themselves.
  static constexpr bool takes_input = !is_bool<Value> || is_same<Reducer, any_of> ||
                                      is_same<Reducer, all_of> || folds_narrow<Reducer, Acc, bool>;

  static void finish(void* out, i64 out_stride, const void* acc, i64 n, i64 count,
                     const u64* scalars) {
    for (i64 i = 0; i < n; ++i) {
      *reinterpret_cast<Out*>(static_cast<char*>(out) + i * out_stride) =
          Op::template finish<Out>(static_cast<const Acc*>(acc)[i], loop_total{count, scalars});
    }
  }
  static constexpr reduce_loops loops{
      {&folds<Reducer, Acc, Value>::loops, &cpu_map<map_of<Values, Value, S, In...>>::loops,
       is_same<Values, in<Value, 0>>&& takes_input, has_position<E>},
      finish,
      is_located<Acc>,
      has_exact_moments<E, Op, Acc, run_context> ? sizeof(byte_powers) : sizeof(Acc)};
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
