// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/scatter.hpp>

#include "kernels/map_unaligned.cuh"

/// Maps whose output is a side operand that replaces elements, all of a row at one place.
namespace quarry::kernels {

template <class E>
struct scattered_value {
  template <class C>
  __device__ auto operator()(const C& c) const {
    return E::value(c);
  }
};

template <class E, class T, int First, int Axes, unsigned Wide>
struct written_row<E, side<T, First, Axes>, Wide> {
  using expression = scattered_value<E>;
  using type = T;
  template <class C>
  static __device__ bool is_written(const C& c) {
    return E::is_written(c);
  }
  template <class C>
  static __device__ i64 offset(const C& c) {
    return E::offset(c);
  }
};

/// As map_unaligned; the inputs that say where the output is written, and whether, have the stride
/// 0 along the last axis.
template <class M, int R, int IndexBytes, int Rows, int V, unsigned Wide>
__global__ void __launch_bounds__(256) map_scatter_rows(
    const __grid_constant__
    typename map_unaligned_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::param_type p,
    int order) {
  wait_for_stream();
  map_unaligned_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::run(p, order);
}

}  // namespace quarry::kernels
