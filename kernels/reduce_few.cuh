// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/reduce_body.cuh"

namespace quarry::kernels {

/// A reduction of few elements: each thread reads all of one output, or of a vector of V outputs,
/// at once, and writes the results. Along is 0, -4, 3 or 4 + n as in reduce_body.cuh; but below 4
/// consecutive threads have consecutive outputs, and each has several of them, block by block, if
/// they are of few bytes. There are `Count` accesses of each output.
template <class M, int Rk, int Rr, class Index, int Along, int V, unsigned Wide, int Count>
struct reduce_few_body;
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr, class Index,
          int Along, int V, unsigned Wide, int Count>
struct reduce_few_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide,
                       Count> {
  using Body = reduce_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr, Index, Along, V, Wide>;
  using Part = typename Body::Part;
  using P = typename Body::P;
  static constexpr int outputs = Body::outputs, chains = Body::chains;

  /// Outputs, or vectors of outputs, of a thread, whose loads are in flight together.
  static constexpr u64 bytes = Count * sizeof(typename Body::template Loaded<V, Wide>);
  static constexpr int groups = Along >= 4 ? 1 : few_groups(bytes);

  using OutputVectors = typename Body::Share::OutputVectors;
  /// The context of `finish`, whose count is a constant.
  struct few_total : block_total<P> {
    __device__ static constexpr i64 count() { return Count * Body::taken; }
  };

  static __device__ i64 first_vector(const P& p) {
    if constexpr (Along >= 4) return typename Body::Share(p).output / outputs;
    return blockIdx.x * static_cast<i64>(blockDim.x) * groups + threadIdx.x;
  }

  static __device__ void fold(const P& p, const typename Body::Offsets& base, Acc* sum) {
    typename Body::Cursor cursor(p, base, 0, Body::taken);
    Part part[chains][outputs];
#pragma unroll
    for (int u = 0; u < chains; ++u) {
#pragma unroll
      for (int j = 0; j < outputs; ++j) part[u][j] = Body::Reducer::template identity<Part>();
    }
    Body::template take<Count, V, Wide>(p, cursor, 0, Body::taken, part);
#pragma unroll
    for (int j = 0; j < outputs; ++j) {
#pragma unroll
      for (int u = 1; u < chains && u < Count; ++u) {
        part[0][j] = Body::Reducer::combine(part[0][j], part[u][j]);
      }
      sum[j] = Body::Fold::widened(part[0][j]);
    }
    if constexpr (Body::seeks_vectors) {
      Body::seek(p, base, 0, static_cast<Index>(p.reduced()), sum[0]);
    }
  }

  /// Those of a thread from vector `first` of `count` on, `step` apart.
  static __device__ void reduce_groups(const P& p, i64 first, i64 step, i64 count) {
    const i64 apart = p.stride(0, Rk - 1);
    typename Body::Offsets base[groups] = {};
    Acc sum[groups][outputs];
#pragma unroll
    for (int g = 0; g < groups; ++g) {  // those behind the last one are the last one again
      const i64 vector = first + g * step < count ? first + g * step : count - 1;
      base[g].advance(p, static_cast<Index>(OutputVectors::first_of(p, vector)), 0, Rk);
      fold(p, base[g], sum[g]);
    }
    wait_for_work_ahead();
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      if (first + g * step >= count) break;
      char* const to = p.template pointer<char>(0) + base[g].of[0];
      store_results<Op, Out, outputs>(few_total{{p}}, to, apart, sum[g]);
    }
  }

  static __device__ void run(const P& p, int order) {
    wait_for_stream(order);
    const i64 count = OutputVectors::count(p), step = blockDim.x;
    const i64 all = Along >= 4 ? count : gridDim.x * groups * step;
#pragma unroll 1
    for (i64 first = first_vector(p); first < count; first += all)
      reduce_groups(p, first, step, count);
  }
  using param_type = P;
};

/// One split. A block that has no tile is a row of threads.
template <class M, int Rk, int Rr, int IndexBytes, int Along, int V, unsigned Wide, int Count>
__global__ void __launch_bounds__(256)
    reduce_few(const __grid_constant__
               typename reduce_few_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Along, V, Wide,
                                        Count>::param_type p,
               int order) {
  reduce_few_body<exact_t<M>, Rk, Rr, index_of<IndexBytes>, Along, V, Wide, Count>::run(p, order);
}

}  // namespace quarry::kernels
