// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/reducer.hpp>

/// How a thread locates an extreme where positions do not ascend.
namespace quarry::kernels {

/// An element at any position, for a reducer that locates an extreme.
template <class Op, class T, class V>
__device__ void take_anywhere(located<T>& a, V v, i64 i) {
  const T value = convert<T>(v);
  const bool is_tie = !Op::beats(value, a.value) && !Op::beats(a.value, value);
  if (is_tie ? i < a.index : Op::beats(value, a.value)) a = {value, i};
}

/// The elements of v, the best of which is `best`; the first one has position `first`, the others
/// follow `step` > 0 apart.
template <class Op, class T, class U, class V, u64 N>
__device__ void take_vector(located<T>& a, U best, const V (&v)[N], i64 first, i64 step) {
  const U before = convert<U>(a.value);
  if (!Op::beats(best, before) && (first >= a.index || Op::beats(before, best))) return;
  take_anywhere<Op>(a, best, first + Op::place_of(best, v) * step);
}

}  // namespace quarry::kernels
