// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/total.cuh"

/// How results are written, and the second kernel of reductions whose outputs have several partial
/// accumulators.
namespace quarry::kernels {

/// The results of N accumulators, `apart` bytes from each other: by accesses of up to 16 bytes
/// where they are dense and aligned to them.
template <class Op, class Out, int N, class P, class Acc>
__device__ void store_results(const P& p, char* to, i64 apart, const Acc* sum) {
  constexpr u64 size = sizeof(Out) * N;
  constexpr bool has_wide = N > 1 && (size & (size - 1)) == 0;
  struct alignas(has_wide ? (size < 16 ? size : 16) : alignof(Out)) Results {
    Out of[N];
  } result;
#pragma unroll
  for (int j = 0; j < N; ++j) result.of[j] = Op::template finish<Out>(sum[j], block_total<P>{p});
  const bool is_aligned = reinterpret_cast<u64>(to) % alignof(Results) == 0;
  if (has_wide && apart == sizeof(Out) && is_aligned) {
    *reinterpret_cast<Results*>(to) = result;
    return;
  }
#pragma unroll
  for (int j = 0; j < N; ++j) *reinterpret_cast<Out*>(to + j * apart) = result.of[j];
}

template <class M, int Rk, int Rr>
struct reduce_finish_body;

/// Combines the `splits` partial accumulators of every output, in order; blockDim.y threads share
/// them.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr>
struct reduce_finish_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr> {
  using P = params<sizeof...(In) + 1, S, Rk + Rr>;

  static __device__ i64 offset_of(const P& p, i64 output) {
    i64 offset = 0;
#pragma unroll
    for (int d = Rk - 1; d >= 0; --d) {
      const i64 next = d > 0 ? output / p.extent(d) : 0;
      offset += (output - next * p.extent(d)) * p.stride(0, d);
      output = next;
    }
    return offset;
  }

  static __device__ void run(const P& p, const Acc* partial, i64 splits) {
    wait_for_stream();
    alignas(16) __shared__ char storage[512 * sizeof(Acc)];
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const i64 kept = p.kept();
#pragma unroll 1
    for (i64 first = blockIdx.x * static_cast<i64>(blockDim.x); first < kept;
         first += static_cast<i64>(gridDim.x) * blockDim.x) {
      const i64 output = first + x;
      Acc sum[] = {Op::template identity<Acc>()};
      if (output < kept) {
#pragma unroll 4
        for (i64 s = y; s < splits; s += blockDim.y) {
          sum[0] = Op::combine(sum[0], partial[s * kept + output]);
        }
      }
      total_of_lanes<Op>(reinterpret_cast<Acc*>(storage), sum,
                         {y, static_cast<int>(blockDim.y), static_cast<int>(blockDim.x)});
      if (y != 0 || output >= kept) continue;
      *reinterpret_cast<Out*>(p.template pointer<char>(0) + offset_of(p, output)) =
          Op::template finish<Out>(sum[0], block_total<P>{p});
    }
  }
  using param_type = P;
  using acc_type = Acc;
};

/// A block has at most 512 threads.
template <class M, int Rk, int Rr>
__global__ void __launch_bounds__(512)
    reduce_finish(const __grid_constant__ typename reduce_finish_body<M, Rk, Rr>::param_type p,
                  const void* partial, i64 splits) {
  using Body = reduce_finish_body<M, Rk, Rr>;
  Body::run(p, static_cast<const typename Body::acc_type*>(partial), splits);
}

}  // namespace quarry::kernels
