// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/access.hpp>

#include "kernels/params.cuh"
#include "kernels/total.cuh"
#include "kernels/unaligned.cuh"

/// Which outputs and elements of a reduction a thread has: kernels/reduce_body.cuh says what Along
/// means.
namespace quarry::kernels {

/// Whether there may be elements in no vector, before and behind all vectors.
template <int Along>
inline constexpr bool has_singles = Along == 2 || Along == -3;

/// Whether vectors of outputs begin at any element.
template <int Along>
inline constexpr bool has_unaligned_columns = Along == -4 || Along == -5;
/// Whether several rows of outputs are one.
template <int Along>
inline constexpr bool has_folded_rows = Along == -1 || Along == -5;

/// The vectors of V outputs of a reduction whose threads compute one each. The last one of a row of
/// unaligned columns has the last V of them, some of which the one before has, too.
template <class P, class Index, int Along, int V, int Rk>
struct vectors_of_outputs {
  static __device__ i64 of_row(const P& p) {
    const i64 columns = Rk > 0 ? p.extent(Rk > 0 ? Rk - 1 : 0) : 1;
    return has_unaligned_columns<Along> ? (columns + V - 1) / V : columns / V;
  }
  static __device__ i64 count(const P& p) {
    if constexpr (!has_unaligned_columns<Along>) return p.kept() / V;
    return Rk == 1 ? of_row(p) : p.kept() / p.extent(Rk - 1) * of_row(p);
  }
  /// The first output of one.
  static __device__ i64 first_of(const P& p, i64 row, i64 vector) {
    if constexpr (!has_unaligned_columns<Along>) return (row * of_row(p) + vector) * V;
    const i64 columns = p.extent(Rk - 1), last = columns - V;
    return row * columns + (vector * V < last ? vector * V : last);
  }
  static __device__ i64 first_of(const P& p, i64 vector) {
    if constexpr (!has_unaligned_columns<Along>) return vector * V;
    if constexpr (Rk == 1) return vector < of_row(p) ? first_of(p, 0, vector) : p.kept();
    const Index each = static_cast<Index>(of_row(p)), n = static_cast<Index>(vector);
    const Index row = n / each;
    return first_of(p, row, n - row * each);
  }
};

/// The first output of a thread, and its share of the elements. Index is for the number of outputs.
template <class P, class Index, int Along, int V, int Rk>
struct reduce_share {
  static constexpr bool threads_along = Along == 1 || Along == 2 || Along == -2 || Along == -3;
  static constexpr bool is_along = threads_along || Along == 3;  // what a thread reads
  static constexpr int outputs = is_along ? 1 : V;
  using OutputVectors = vectors_of_outputs<P, Index, Along, outputs, Rk>;
  lane_of me;
  i64 output;
  /// Whether a block whose threads are across has whole rows of outputs.
  static __device__ bool has_short_rows(const P& p) { return OutputVectors::of_row(p) < short_row; }
  __device__ explicit reduce_share(const P& p) {
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y);
    const i64 row = blockIdx.x * static_cast<i64>(by) + y;
    if constexpr (threads_along) {
      me = {x, bx, 1};
      output = row;
    } else if constexpr (Along >= 4) {
      using Unsigned = make_unsigned<Index>;
      Unsigned columns = 1;
#pragma unroll
      for (int d = Along - 3; d < Rk; ++d) columns *= static_cast<Unsigned>(p.extent(d));
      columns /= V;
      const Unsigned tiles = (columns - 1) / blockDim.x + 1;  // fewer than the grid has blocks
      const u32 tile = blockIdx.x / static_cast<u32>(tiles);
      const u32 place = blockIdx.x - tile * static_cast<u32>(tiles);
      const i64 column = place * static_cast<i64>(bx) + x, all = static_cast<i64>(columns);
      me = {0, 1, 1};
      output = column < all ? ((tile * static_cast<i64>(by) + y) * all + column) * V : p.kept();
    } else {
      const i64 vectors = OutputVectors::of_row(p);
      if (vectors < short_row) {
        const int apart = static_cast<int>(vectors);
        me = {x / apart, bx / apart, apart};
        output = OutputVectors::first_of(p, row, x % apart);
      } else {
        me = {y, by, bx};
        output = OutputVectors::first_of(p, blockIdx.x * static_cast<i64>(bx) + x);
      }
    }
  }
};

/// What an access has loaded.
template <bool Unaligned, int V, unsigned Wide, class... In>
struct column_load : loaded<V, Wide, 0, In...> {
  __device__ void load(const char* const* at) {
    if constexpr (Unaligned)
      load_unaligned(*this, at);
    else
      loaded<V, Wide, 0, In...>::load(at);
  }
};

/// Which accesses of a batch there are: all of them, or those at i, i + step, ... that end by
/// `end`, of so many elements.
struct all_accesses {
  __device__ bool operator()(int) const { return true; }
};
template <class Index, int Elements>
struct accesses_until {
  Index i, end, step;
  __device__ bool operator()(int u) const { return i + u * step + Elements <= end; }
};

/// Where the vectors along the reduced axes are.
template <class Types, class P, class Axes, class Index, int Along, int V, unsigned Wide>
struct reduce_places {
  static constexpr int K = Types::count, R = Axes::R;
  using Offsets = typename Axes::Offsets;
  using Cursor = typename Axes::Cursor;

  /// The reduced elements [first, rest) are in vectors, of [begin, end).
  struct Vectors {
    Index first, rest;
    __device__ Vectors(const P& p, const Offsets& base, Index begin, Index end)
        : first(begin), rest(end) {
      if constexpr (has_singles<Along>) {
        constexpr int k = 1 + input_access::first(Wide, K - 1);
        constexpr u64 unit = unit_of<k>();
        const u64 from =
            p.address(k) + static_cast<u64>(base.of[k]) + static_cast<u64>(begin) * unit;
        const Index odd = static_cast<Index>(from / unit % V), head = odd == 0 ? 0 : V - odd;
        first += head < end - begin ? head : end - begin;
        // the vector of the last element may reach beyond it
        if (Wide >= 1u << input_access::other_step && first < end) --end;
        rest = first + (end - first) / V * V;
      }
    }
  };

  /// The lanes [first, last) of the access at a cursor that are elements of its row, the first lane
  /// of which is `before` elements before the cursor's place.
  struct RowLanes {
    Index before = 0;
    int first = 0, last = V;
    __device__ bool is_whole() const { return first == 0 && last == V; }
    __device__ bool is_empty() const { return first >= last; }
    __device__ bool has(int lane) const { return lane >= first && lane < last; }
  };
  static __device__ RowLanes lanes_at(const P& p, const Cursor& cursor) {
    if constexpr (Along != -2) return {};
    constexpr int k = 1 + input_access::first(Wide, K - 1);
    const Index place = cursor.digit[Axes::reduced_rank - 1],
                length = static_cast<Index>(p.extent(R - 1));
    const u64 at = p.address(k) + static_cast<u64>(static_cast<i64>(cursor.at.of[k]));
    const Index before = static_cast<Index>(at / unit_of<k>() % V), rest = length + before - place;
    return {before, place == 0 ? static_cast<int>(before) : 0,
            rest < V ? static_cast<int>(rest) : V};
  }
  /// Whether most warps read the end of a row.
  static __device__ bool has_short_rows(const P& p) { return p.extent(R - 1) < 64 * V; }
  /// How far the elements of input k are apart in vectors.
  template <int k>
  static __device__ constexpr u64 unit_of() {
    return Types::size_of(k) * (input_access::of(Wide, k - 1).has_gaps ? 2 : 1);
  }
  /// The reduced elements, with those before and behind ragged rows in their vectors.
  static __device__ i64 reduced(const P& p) {
    if constexpr (Along != -2) return p.reduced();
    i64 places = 1;
#pragma unroll
    for (int d = R - Axes::reduced_rank; d < R; ++d) places *= Axes::extent(p, d);
    return places;
  }
};

}  // namespace quarry::kernels
