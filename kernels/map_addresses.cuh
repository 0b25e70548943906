// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/params.cuh"

namespace quarry::kernels {

/// The addresses of one element of all operands of a strided map.
template <class P, int K, int R, class Index>
struct map_addresses {
  char* at[K];
  __device__ map_addresses(const P& p, Index column, Index row) {
    Index offset[K];
#pragma unroll
    for (int k = 0; k < K; ++k) offset[k] = column * static_cast<Index>(p.stride(k, R - 1));
#pragma unroll
    for (int d = R - 2; d >= 0; --d) {
      Index j = row;
      if (d > 0) {
        const Index extent = static_cast<Index>(p.extent(d)), next = quotient(row, extent);
        j = row - next * extent;
        row = next;
      }
#pragma unroll
      for (int k = 0; k < K; ++k) offset[k] += j * static_cast<Index>(p.stride(k, d));
    }
#pragma unroll
    for (int k = 0; k < K; ++k) at[k] = p.template pointer<char>(k) + offset[k];
  }
  /// Moves from row - by to `row`.
  __device__ void next(const P& p, Index column, Index row, Index by) {
    if constexpr (R == 2) {
#pragma unroll
      for (int k = 0; k < K; ++k) at[k] += static_cast<Index>(p.stride(k, 0)) * by;
    } else {
      *this = map_addresses(p, column, row);
    }
  }
};

}  // namespace quarry::kernels
