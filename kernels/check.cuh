// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/row_places.cuh"

/// Positions of side operands that are outside of their axis.
namespace quarry::kernels {

/// What the check that is ahead of a map of inputs In has found, or 0. Kernels ask for it with
/// their first loads and look at it before they write: what they read is clipped to its axis in any
/// case.
template <class... In, class P>
__device__ i64 found_by_check(const P& p) {
  if constexpr ((is_side_operand<In> || ...)) {
    if (const auto at = reinterpret_cast<const i64*>(p.chunk()); at && !checks_itself(p))
      return *at;
  }
  return 0;
}

/// The check of a map that copies rows, of its positions. The first blocks make it before they copy
/// anything, so that the host knows of it while the others copy. For all other maps it is nothing.
template <class M, int R, unsigned Wide>
struct row_check {
  template <class Index, class P>
  static __device__ void run(const P&) {}
};
template <class T, int K, int A, class I, int N, int S, class... In, int R, unsigned Wide>
requires(
    rows_at<map_of<pick<T, K, place<index_mode::from_end, A, in<I, N>>>, T, S, In...>> > 0 &&
    copies_rows<pick<T, K, place<index_mode::from_end, A, in<I, N>>>, T,
                Wide>) struct row_check<map_of<pick<T, K, place<index_mode::from_end, A, in<I, N>>>,
                                               T, S, In...>,
                                        R, Wide> {
  static constexpr int operand = 1 + N;

  template <class P, class Index>
  static __device__ I position(const P& p, Index row) {
    Index offset = 0;
#pragma unroll
    for (int d = R - 2; d >= 0; --d) {
      const Index extent = static_cast<Index>(p.extent(d));
      const Index outer = d > 0 ? quotient(row, extent) : 0;
      offset += (row - outer * extent) * static_cast<Index>(p.stride(operand, d));
      row = outer;
    }
    return *reinterpret_cast<const I*>(p.template pointer<const char>(operand) + offset);
  }

  /// A warp that is done counts itself, and whether it has found a position outside. The last one
  /// leaves how many warps have for the host.
  template <class Index, class P>
  static __device__ void run(const P& p) {
    const u64 block = u64{blockIdx.y} * gridDim.x + blockIdx.x;
    if (block >= most_that_check || !checks_itself(p)) return;
    const u32 threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
    const Index rows = quotient(static_cast<Index>(p.kept()), static_cast<Index>(p.extent(R - 1)));
    const u64 all = u64{gridDim.y} * gridDim.x, wanted = blocks_that_check(rows, threads);
    const u32 blocks = static_cast<u32>(all < wanted ? all : wanted);
    if (block >= blocks) return;
    const i64 extent = p.template scalar<side_axis>(A).extent;
    bool is_outside = false;
#pragma unroll 1
    for (u64 row = block * threads + thread; row < static_cast<u64>(rows);
         row += blocks * threads) {
      const i64 at = position(p, static_cast<Index>(row));
      is_outside = is_outside || at < -extent || at >= extent;
    }
    const bool has_found = __ballot_sync(0xffffffffu, is_outside) != 0;
    if (thread % 32 != 0) return;
    auto* const arrived = reinterpret_cast<u32*>(p.reduced());
    constexpr u32 finder = 1u << 16;
    const u32 before = atomicAdd(arrived, has_found ? finder + 1 : 1);
    if (before % finder + 1 != blocks * (threads / 32)) return;
    *arrived = 0;
    *reinterpret_cast<volatile i64*>(p.chunk()) = before / finder + (has_found ? 1 : 0);
  }
};

}  // namespace quarry::kernels
