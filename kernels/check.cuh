// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/picks.hpp>

#include "kernels/map_addresses.cuh"
#include "kernels/params.cuh"

/// Positions of side operands that are outside of their axis.
namespace quarry::kernels {

/// What the check that is ahead of a map of these operands has found, or 0. Kernels ask for it with
/// their first loads and look at it before they write: what they read is clipped to its axis in any
/// case.
template <class... Operands, class P>
__device__ i64 found_by_check(const P& p) {
  if constexpr ((is_side_operand<Operands> || ...)) {
    if (const auto at = reinterpret_cast<const i64*>(p.chunk()); at && !checks_itself(p))
      return *at;
  }
  return 0;
}

/// How many blocks of so many threads check the positions of `rows` rows: the first ones, few
/// enough that a counter of 16 bits counts their warps.
inline constexpr u64 most_that_check = 512;
QUARRY_HD constexpr u64 blocks_that_check(i64 rows, u32 threads) {
  const u64 blocks = (static_cast<u64>(rows) + threads - 1) / threads;
  return blocks < most_that_check ? blocks : most_that_check;
}

/// Whether a position is none of an axis, from its begin or from its end.
QUARRY_HD constexpr bool is_outside(i64 at, i64 extent) { return at < -extent || at >= extent; }

/// What is added to the counter of a check for each part of the positions that is checked, and for
/// each warp that has found one outside.
inline constexpr u32 checked_part = 1, found_outside = 1u << 16;
/// Adds to the counter. The last one of so many parts leaves how many warps have found one outside,
/// for the host, and at `word`.
template <class P>
__device__ void count_checked(const P& p, u32 adds, u32 parts, i64* word) {
  auto* const counter = reinterpret_cast<u32*>(p.reduced());
  const u32 now = atomicAdd(counter, adds) + adds;
  if (now % found_outside != parts) return;
  *counter = 0;
  if (word) *word = now / found_outside;
  *reinterpret_cast<volatile i64*>(p.chunk()) = now / found_outside;
}

/// If map M does no more than copy rows, as `Copies` says, the first blocks check their positions
/// before they copy anything, so that the host knows of it while the others copy.
template <class M, bool Copies, int R, class Index, class P>
__device__ void check_rows([[maybe_unused]] const P& p) {
  using Positions = row_positions<M>;
  if constexpr (Copies && Positions::operand > 0) {
    const u64 block = u64{blockIdx.y} * gridDim.x + blockIdx.x;
    if (block >= most_that_check || !checks_itself(p)) return;
    const u32 threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
    const Index rows = quotient(static_cast<Index>(p.kept()), static_cast<Index>(p.extent(R - 1)));
    const u64 all = u64{gridDim.y} * gridDim.x, wanted = blocks_that_check(rows, threads);
    const u32 blocks = static_cast<u32>(all < wanted ? all : wanted);
    if (block >= blocks) return;
    const i64 extent = p.template scalar<side_axis>(Positions::axis).extent;
    bool has_outside = false;
#pragma unroll 1
    for (u64 row = block * threads + thread; row < static_cast<u64>(rows);
         row += blocks * threads) {
      const map_addresses<P, P::at.operands, R, Index> of_row(p, 0, static_cast<Index>(row));
      using Position = typename Positions::type;
      const i64 at = *reinterpret_cast<const Position*>(of_row.at[Positions::operand]);
      has_outside = has_outside || is_outside(at, extent);
    }
    const bool has_found = __ballot_sync(0xffffffffu, has_outside) != 0;
    if (thread % 32 != 0) return;
    const u32 adds = checked_part + (has_found ? found_outside : 0);
    count_checked(p, adds, blocks * (threads / 32), nullptr);
  }
}

}  // namespace quarry::kernels
