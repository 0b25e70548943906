// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/params.cuh"

/// Where the elements of a reduction are.
namespace quarry::kernels {

/// Rk kept and Rr reduced axes of K operands, of which the first one is written. With Positions its
/// strides along the reduced axes are those of positions, in elements. Rows along the last axis
/// begin at any of the `Lanes` elements of a vector. Of a Run the elements of all reduced axes lie
/// side by side, and are walked as if they were of one axis.
template <class P, int K, int Rk, int Rr, class Index, bool Positions, int Lanes, bool Run>
struct reduce_axes {
  static constexpr int R = Rk + Rr, reduced_rank = Rr;
  static constexpr bool is_one_axis = Rr == 1 || Run;

  /// Of the last axis the elements of as many vectors as any row of it may be in.
  static __device__ i64 extent(const P& p, int d) {
    const i64 extent = p.extent(d);
    return d < R - 1 ? extent : (extent + 2 * (Lanes - 1)) / Lanes * Lanes;
  }

  /// Byte offsets of all operands.
  struct Offsets {
    Index of[K];
    /// To position `i` of the axes [first, last), in C order; their indices go to `digit`.
    __device__ void advance(const P& p, Index i, int first, int last, Index* digit = nullptr) {
#pragma unroll
      for (int d = R - 1; d >= 0; --d) {
        if (d < first || d >= last) continue;
        Index j = i;
        if (d > first) {
          const Index length = static_cast<Index>(extent(p, d)), next = i / length;
          j = i - next * length;
          i = next;
        }
        if (digit) digit[d - first] = j;
#pragma unroll
        for (int k = 0; k < K; ++k) of[k] += j * static_cast<Index>(p.stride(k, d));
      }
    }
  };

  static __device__ Index wrapped_sum(Index a, Index b) {
    return static_cast<Index>(static_cast<u64>(a) + static_cast<u64>(b));
  }

  /// The rows that elements of a run are in, from element `i` on.
  struct RunRows {
    Offsets at{};
    Index digit[Rr];
    __device__ RunRows(const P& p, Index i) { at.advance(p, i, Rk, R, digit); }
    /// In C order among the reduced elements.
    __device__ i64 position() const { return at.of[0]; }
    __device__ i64 step(const P& p) const { return p.stride(0, R - 1); }
    /// How many elements of the row there are from the first one on.
    __device__ i64 left(const P& p) const { return extent(p, R - 1) - digit[Rr - 1]; }
    __device__ void next(const P& p) {
      digit[Rr - 1] = 0;
      bool is_carried = true;
      at.of[0] = 0;
#pragma unroll
      for (int d = Rr - 2; d >= 0; --d) {
        digit[d] += is_carried;
        is_carried = is_carried && digit[d] == static_cast<Index>(extent(p, Rk + d));
        if (is_carried) digit[d] = 0;
        at.of[0] += digit[d] * static_cast<Index>(p.stride(0, Rk + d));
      }
    }
  };
  static __device__ i64 position_in_run(const P& p, i64 i) {
    return RunRows(p, static_cast<Index>(i)).position();
  }

  /// Reduced positions i, i + step, ...: of several axes only the first one costs divisions, on one
  /// axis each is a multiplication.
  struct Cursor {
    static constexpr int moving = Positions && !Run ? 0 : 1;  // the first operand that moves
    Offsets at, by{};
    Index digit[Rr], step_digit[Rr];
    __device__ Cursor(const P& p, const Offsets& base, Index i, Index step) : at(base) {
      if constexpr (!is_one_axis) {
        at.of[0] = 0;
        at.advance(p, i, Rk, R, digit);
        by.advance(p, step, Rk, R, step_digit);
      }
    }
    /// `i` is the position that the cursor has reached.
    template <class L>
    __device__ void load(const P& p, L& in, Index i) const {
      const char* from[K];
#pragma unroll
      for (int k = 1; k < K; ++k) {
        const Index along = is_one_axis ? i * static_cast<Index>(p.stride(k, R - 1)) : 0;
        from[k - 1] = p.template pointer<const char>(k) + (at.of[k] + along);
      }
      in.load(from);
    }
    /// The vectors that begin so many elements before the cursor, or what does not move with them.
    template <class L>
    __device__ void load_before(const P& p, L& in, Index elements) const {
      const char* from[K];
#pragma unroll
      for (int k = 1; k < K; ++k) {
        const Index back = elements * static_cast<Index>(p.stride(k, R - 1));
        from[k - 1] = p.template pointer<const char>(k) + (at.of[k] - back);
      }
      in.load(from);
    }
    /// In C order among the reduced elements, of a run in memory.
    __device__ Index position(Index i) const { return Positions && !Run ? at.of[0] : i; }
    /// The last one leads to offsets that are not used, and may be too large for Index.
    __device__ void next(const P& p) {
      if constexpr (!is_one_axis) {
#pragma unroll
        for (int k = moving; k < K; ++k) at.of[k] = wrapped_sum(at.of[k], by.of[k]);
#pragma unroll
        for (int d = Rr - 1; d > 0; --d) {
          const Index length = static_cast<Index>(extent(p, Rk + d));
          digit[d] += step_digit[d];
          if (digit[d] < length) continue;
          digit[d] -= length;
          digit[d - 1] += 1;
#pragma unroll
          for (int k = moving; k < K; ++k) {
            const i64 carry = p.stride(k, Rk + d - 1) - extent(p, Rk + d) * p.stride(k, Rk + d);
            at.of[k] = wrapped_sum(at.of[k], static_cast<Index>(carry));
          }
        }
      }
    }
  };
};

}  // namespace quarry::kernels
