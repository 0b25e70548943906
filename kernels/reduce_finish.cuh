// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/statistics.hpp>

#include "kernels/narrow.cuh"
#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/total.cuh"

/// How results are written, and how partial accumulators become results where outputs have several:
/// by the block of the first kernel that is done last, or by a second kernel.
namespace quarry::kernels {

/// Adds 1, or goes from `most` to 0, and returns what was there. What the threads of a block have
/// written before a barrier ahead of this is visible to those that are behind a barrier after a
/// later call.
inline __device__ u32 arrive(u32* at, u32 most) {
#if __CUDA_ARCH__ >= 700
  u32 was;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(was)
               : "l"(at), "r"(most)
               : "memory");
  return was;
#else
  __threadfence();
  const u32 was = atomicInc(at, most);
  __threadfence();
  return was;
#endif
}

/// Whether all other blocks of the grid have called this before, so that what they wrote before is
/// visible. Called by all threads of a block. `arrived` is 0 before the first call, and after the
/// last.
inline __device__ bool is_last_block(u32* arrived) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    const u32 others = gridDim.x * gridDim.y - 1;
    is_last = arrive(arrived, others) == others;
  }
  __syncthreads();
  return is_last;
}

/// The results of N accumulators, `apart` bytes from each other: by accesses of up to 16 bytes
/// where they are dense and aligned to them. `total` is the context of `finish`.
template <class Op, class Out, int N, class C, class Acc>
__device__ void store_results(const C& total, char* to, i64 apart, const Acc* sum) {
  constexpr u64 size = sizeof(Out) * N;
  constexpr bool has_wide = N > 1 && (size & (size - 1)) == 0;
  struct alignas(has_wide ? (size < 16 ? size : 16) : alignof(Out)) Results {
    Out of[N];
  } result;
#pragma unroll
  for (int j = 0; j < N; ++j) result.of[j] = Op::template finish<Out>(sum[j], total);
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

/// Combines the `splits` partial accumulators of every output, in an order that depends on the
/// number of threads alone that share them.
template <class E, class Op, class Acc, class Out, int S, class... In, int Rk, int Rr>
struct reduce_finish_body<reduction_of<E, Op, Acc, Out, S, In...>, Rk, Rr> {
  using P = params<sizeof...(In) + 1, S, Rk + Rr>;

  template <class Index>
  static __device__ i64 offset_of(const P& p, Index output) {
    i64 offset = 0;
#pragma unroll
    for (int d = Rk - 1; d >= 0; --d) {
      const Index extent = static_cast<Index>(p.extent(d)), next = d > 0 ? output / extent : 0;
      offset += (output - next * extent) * p.stride(0, d);
      output = next;
    }
    return offset;
  }

  /// Of the partial accumulators of an output those of splits first, first + step, ...
  template <int in_flight, class Index>
  static __device__ Acc combined(const Acc* of_output, Index kept, Index first, Index step,
                                 Index splits) {
    Acc sum = Op::template identity<Acc>();
#pragma unroll 1
    for (Index s = first; s < splits; s += in_flight * step) {
      Acc part[in_flight];
#pragma unroll
      for (int n = 0; n < in_flight; ++n) {
        const Index split = s + n * step;
        part[n] = split < splits ? of_output[split * kept] : Op::template identity<Acc>();
      }
#pragma unroll
      for (int n = 0; n < in_flight; ++n) sum = Op::combine(sum, part[n]);
    }
    return sum;
  }

  /// By blocks of `columns` outputs, each of which `lanes` threads share, a power of two; block
  /// `first` of them and then every `step`-th. Index is for the number of partial accumulators.
  template <int in_flight, class Index>
  static __device__ void run(const P& p, const Acc* partial, Index splits, Acc* storage,
                             int columns, int lanes, Index first, Index step) {
    const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    const bool is_one = p.kept() == 1;  // whatever else a block has threads for
    const int x = is_one ? thread / lanes : thread % columns;
    const int y = is_one ? thread % lanes : thread / columns;
    const Index kept = static_cast<Index>(p.kept());
#pragma unroll 1
    for (Index begin = first * columns; begin < kept; begin += step * columns) {
      const Index output = begin + x;
      Acc sum[] = {Op::template identity<Acc>()};
      if (output < kept)
        sum[0] = combined<in_flight, Index>(partial + output, kept, y, lanes, splits);
      if (is_one)
        sum[0] = total_of_row<Op>(storage, sum[0], y, x, lanes);
      else
        total_of_lanes<Op>(storage, sum, {y, lanes, columns});
      if (y != 0 || output >= kept) continue;
      *reinterpret_cast<Out*>(p.template pointer<char>(0) + offset_of(p, output)) =
          Op::template finish<Out>(sum[0], block_total<P>{p});
    }
  }

  /// What the second kernel would do, of `gridDim.y` splits that fit into 32-bit offsets, by the
  /// block of 256 threads that is done last. Called by all threads.
  static __device__ void run_in_last_block(const P& p, const void* partial, u32* arrived,
                                           int lanes) {
    alignas(16) __shared__ char storage[256 * sizeof(Acc)];
    if (!is_last_block(arrived)) return;
    run<4>(p, static_cast<const Acc*>(partial), static_cast<i32>(gridDim.y),
           reinterpret_cast<Acc*>(storage), 256 / lanes, lanes, 0, 1);
  }
  using param_type = P;
  using acc_type = Acc;
};

/// A block has at most 512 threads.
template <class M, int Rk, int Rr>
__global__ void __launch_bounds__(512)
    reduce_finish(const __grid_constant__
                  typename reduce_finish_body<exact_t<M>, Rk, Rr>::param_type p,
                  const void* partial, i64 splits) {
  using Body = reduce_finish_body<exact_t<M>, Rk, Rr>;
  using Acc = typename Body::acc_type;
  alignas(16) __shared__ char storage[512 * sizeof(Acc)];
  wait_for_stream();
  Body::template run<8>(p, static_cast<const Acc*>(partial), splits,
                        reinterpret_cast<Acc*>(storage), static_cast<int>(blockDim.x),
                        static_cast<int>(blockDim.y), i64{blockIdx.x}, i64{gridDim.x});
}

}  // namespace quarry::kernels
