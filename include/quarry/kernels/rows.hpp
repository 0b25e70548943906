// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reduce.hpp>
#include <quarry/kernels/row_programs.hpp>

/// Row programs on the CPU; the kernels of GPUs are in kernels/rows.cuh.
namespace quarry::kernels {

/// The fold of a row's values, and the map of its elements, whose last two inputs are what the row
/// has given. `totals` writes that of n rows of `count` elements each, side by side.
struct rows_loops : value_loops {
  const map_loops* elements;
  u32 first_size, second_size;
  void (*totals)(void* first, void* second, const void* acc, i64 n, i64 count, const u64* scalars);
};

template <class M>
struct cpu_rows;

QUARRY_LOOPS_BEGIN
template <class E, class Program, class Out, int S, class... In>
struct cpu_rows<rows_of<E, Program, Out, S, In...>> {
  using Acc = typename Program::accumulator;
  using First = typename value_of<Acc>::type;
  using Second = typename Program::second;
  static constexpr int inputs = sizeof...(In);
  using Element = typename Program::template element<E, in<First, inputs>, in<Second, inputs + 1>>;

  static void totals(void* first, void* second, const void* acc, i64 n, i64 count,
                     const u64* scalars) {
    for (i64 i = 0; i < n; ++i) {
      const auto total = Program::of(static_cast<const Acc*>(acc)[i], loop_total{count, scalars});
      static_cast<First*>(first)[i] = total.first;
      static_cast<Second*>(second)[i] = total.second;
    }
  }
  static constexpr rows_loops loops{
      {&folds<typename Program::reducer, Acc>::loops, &cpu_map<map_of<E, First, S, In...>>::loops,
       is_same<E, in<First, 0>>, has_position<E>},
      &cpu_map<map_of<Element, Out, S, In..., First, Second>>::loops,
      sizeof(First),
      sizeof(Second),
      totals};
};
QUARRY_LOOPS_END

template <class E, class Program, class Out, int S, class... In>
struct parts_of<rows_of<E, Program, Out, S, In...>> {
  static constexpr family kind = family::rows;
  static constexpr int scalars = S;
  using expression = E;
  using types = operands_of<Out, In...>;
  using loops = cpu_rows<rows_of<E, Program, Out, S, In...>>;
};

}  // namespace quarry::kernels
