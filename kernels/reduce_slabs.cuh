// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/params.hpp>

#include "kernels/copy_async.cuh"
#include "kernels/reduce_finish.cuh"
#include "kernels/reduce_walk.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/total.cuh"

namespace quarry::kernels {

/// A reduction of the rows of slabs: parts of the input, one behind the other along a kept axis,
/// with a short row of the last kept axis at each position of the only reduced one. Rows may begin
/// at any element: a block copies stages of several slabs to shared memory by aligned vectors, the
/// next stage while it takes the elements of this one, one by one. Consecutive threads have the
/// columns of a row, then those of the next rows, which are the lanes of an output.
template <class M, int Rk, class Index>
struct reduce_slabs_body;
template <class E, class Op, class Acc, class Out, int S, class T, int Rk, class Index>
struct reduce_slabs_body<reduction_of<E, Op, Acc, Out, S, T>, Rk, Index> {
  using Walk = reduce_walk<reduction_of<E, Op, Acc, Out, S, T>, Rk, 1, Index, 3, 1, 0>;
  using P = typename Walk::P;
  using Offsets = typename Walk::Offsets;
  using Vector = aligned_words<16>;

  struct Stage {
    Offsets base{};   ///< of the first slab
    u64 address = 0;  ///< of its first element
    u32 slabs = 0;
    __device__ u32 shift() const { return static_cast<u32>(address) & 15; }
  };
  /// The elements of a column, in shared memory.
  struct Cursor {
    const char* first;
    u32 pitch;
    template <class L>
    __device__ void load(const P&, L& in, Index row) const {
      const char* const at[] = {first + static_cast<u32>(row) * pitch};
      in.load(at);
    }
    __device__ Index position(Index row) const { return row; }
    __device__ void next(const P&) {}
  };

  const P& p;
  const slab_stages& of;
  u32 slab, lane, column;

  __device__ reduce_slabs_body(const P& params, const slab_stages& stages) : p(params), of(stages) {
    const u32 row = of.columns.quotient(threadIdx.x);
    column = threadIdx.x - row * of.columns.constant;
    slab = of.lanes.quotient(row), lane = row - slab * of.lanes.constant;
    if (slab >= of.slabs) lane = of.lanes.constant;  // behind the lanes of all outputs
  }

  __device__ Stage stage_at(Index n) const {
    const Index all = static_cast<Index>(p.extent(Rk - 2)), most = static_cast<Index>(of.slabs),
                of_line = (all - 1) / most + 1, line = Rk > 2 ? n / of_line : 0,
                first = (n - line * of_line) * most;
    Stage found;
    found.base.advance(p, line, 0, Rk - 2);
#pragma unroll
    for (int k = 0; k < 2; ++k) found.base.of[k] += first * static_cast<Index>(p.stride(k, Rk - 2));
    found.address = p.address(1) + static_cast<u64>(i64{found.base.of[1]});
    found.slabs = static_cast<u32>(all - first < most ? all - first : most);
    return found;
  }
  /// Copies the vectors with some elements of a stage.
  __device__ void copy(Vector* to, const Stage& stage) const {
    const u32 bytes = stage.shift() + (stage.slabs - 1) * of.slab_pitch + of.slab_bytes;
    const auto* const from = reinterpret_cast<const Vector*>(stage.address - stage.shift());
    for (u32 v = threadIdx.x; 16 * v < bytes; v += slab_threads)
      copy_async<Vector, true>(reinterpret_cast<char*>(to + v),
                               reinterpret_cast<const char*>(from + v));
  }
  /// What this thread has of a stage.
  __device__ void take(const Stage& stage, const Vector* staged, Acc* sum) const {
    if (slab >= stage.slabs || lane == of.lanes.constant) return;
    const u32 first = stage.shift() + slab * of.slab_pitch + column * of.unit;
    const Cursor cursor{reinterpret_cast<const char*>(staged) + first, of.row_pitch};
    Walk::template walk_by<1, 0, false>(p, cursor, static_cast<Index>(lane),
                                        static_cast<Index>(p.reduced()),
                                        static_cast<Index>(of.lanes.constant), sum);
  }
  __device__ void write(const Stage& stage, const Acc (&sum)[1]) const {
    wait_for_work_ahead();
    if (slab >= stage.slabs || lane != 0) return;
    char* const to = p.template pointer<char>(0) + stage.base.of[0];
    const i64 at = slab * p.stride(0, Rk - 2) + column * p.stride(0, Rk - 1);
    store_results<Op, Out, 1>(block_total<P>{p}, to + at, 0, sum);
  }

  static __device__ void run(const P& p, const slab_stages& of, int order) {
    __shared__ Vector staged[2][slab_stage_bytes / 16];
    alignas(16) __shared__ char storage[slab_threads * sizeof(Acc)];
    wait_for_stream(order);
    const reduce_slabs_body me(p, of);
    const Index stages = static_cast<Index>(p.chunk()), step = static_cast<Index>(gridDim.x);
    const lane_of share{static_cast<int>(me.lane), static_cast<int>(of.lanes.constant),
                        static_cast<int>(of.columns.constant)};
    Index n = static_cast<Index>(blockIdx.x);
    Stage now = me.stage_at(n), next{};
    me.copy(staged[0], now);
    end_copies();
    u32 at = 0;
#pragma unroll 1
    for (; n < stages; n += step, at ^= 1) {
      if (n + step < stages) me.copy(staged[at ^ 1], next = me.stage_at(n + step));
      end_copies();
      wait_for_copies<1>();
      __syncthreads();
      Acc sum[] = {Op::template identity<Acc>()};
      me.take(now, staged[at], sum);
      total_of_lanes<Op>(reinterpret_cast<Acc*>(storage), sum, share);
      me.write(now, sum);
      __syncthreads();  // the memory is used again
      now = next;
    }
  }
  using param_type = P;
};

/// Blocks of slab_threads along x, at most as many as there are stages, of which `chunk` is the
/// number. There are two kept axes at least.
template <class M, int Rk, int IndexBytes>
__global__ void __launch_bounds__(slab_threads, slab_blocks)
    reduce_slabs(const __grid_constant__
                 typename reduce_slabs_body<exact_t<M>, Rk, index_of<IndexBytes>>::param_type p,
                 const __grid_constant__ slab_stages of, int order) {
  reduce_slabs_body<exact_t<M>, Rk, index_of<IndexBytes>>::run(p, of, order);
}

}  // namespace quarry::kernels
