// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/statistics.hpp>

/// How a thread takes what is no whole batch of consecutive positions.
namespace quarry::kernels {

/// Adds the first n > 0 elements of v, whose positions at(0), at(1), ... ascend; the others are
/// zeros. Reducers that add zeros have functions of their own.
template <class Op, class Acc, class V, u64 N, class At>
__device__ void take_some(Acc& a, const V (&v)[N], int n, const At& at) {
  if constexpr (requires { Op::take_some(a, v, n); }) {
    Op::take_some(a, v, n);
  } else {
#pragma unroll
    for (int j = 0; j < static_cast<int>(N); ++j) {
      if (j < n) Op::take(a, v[j], at(j));
    }
  }
}

/// The mean is computed twice, so that it is that of equal elements exactly.
template <class Op, class T, class V, u64 N, class At>
requires(__is_base_of(moments_of, Op)) __device__
    void take_some(moments<T>& a, const V (&v)[N], int n, const At&) {
  using Real = real_type<T>;
  constexpr int most = static_cast<int>(N);
  const Real count = static_cast<Real>(n), part = Real(1) / count;
  moments<T> batch{T{}, 0, count};
#pragma unroll
  for (int j = 0; j < most; ++j) {
    batch.mean = math::add(batch.mean, Op::scaled(convert<T>(v[j]), part));
  }
  T rest{};
#pragma unroll
  for (int j = 0; j < most; ++j) {
    const T apart = math::subtract(convert<T>(v[j]), batch.mean);
    if (j < n) rest = math::add(rest, Op::scaled(apart, part));
  }
  batch.mean = math::add(batch.mean, rest);
#pragma unroll
  for (int j = 0; j < most; ++j) {
    if (j < n) batch.squares += Op::square_of(math::subtract(convert<T>(v[j]), batch.mean));
  }
  a = a.count == 0 ? batch : Op::combine(a, batch);
}

template <class Op, class T, class V, u64 N, class At>
requires(__is_base_of(exponentials_of, Op)) __device__
    void take_some(exponentials<T>& a, const V (&v)[N], int n, const At&) {
  constexpr int most = static_cast<int>(N);
  T largest = a.largest;
#pragma unroll
  for (int j = 0; j < most; ++j) {
    if (j < n) largest = Op::larger(largest, convert<T>(v[j]));
  }
  const T by = Op::shift(largest);
  T sum = a.sum * Op::scale(a.largest, largest);
#pragma unroll
  for (int j = 0; j < most; ++j) {
    if (j < n) sum += math::exp(convert<T>(v[j]) - by);
  }
  a = {largest, sum};
}

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
