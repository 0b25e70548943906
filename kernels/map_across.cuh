// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/check.cuh"
#include "kernels/params.cuh"
#include "kernels/row_places.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/unaligned.cuh"
#include "kernels/vector.cuh"

/// The kernel of maps of dense outputs with inputs that are the same for several rows, or for a
/// whole row, and of rows that are copied from where positions say:
///   map_across  the rows of the outputs are accessed as one, by vectors that go on from a row to
///               the next one
namespace quarry::kernels {

/// The elements that a vector of the outputs takes: from `column` of a row on, and where the row
/// ends, after `left` lanes, from the first column of the next row.
template <class Index>
struct place_across {
  Index first;  ///< the number of the first element
  Index row, column, columns;
  Index left;  ///< the elements of the row from `column` on
  bool goes_on;

  /// Of a vector of V elements T.
  template <class T, int V>
  __device__ i32 bytes_of_row() const {
    return (left < V ? static_cast<i32>(left) : V) * static_cast<i32>(sizeof(T));
  }
};

/// How far a row and the next one are from the first one, in an operand.
template <class Index>
struct row_offsets {
  Index row = 0, next = 0;

  template <int R, class P>
  static __device__ row_offsets of(const P& p, int k, Index row) {
    row_offsets to;
    bool goes_on = true;  // to the next index of the axis
#pragma unroll
    for (int d = R - 2; d >= 0; --d) {
      const Index extent = static_cast<Index>(p.extent(d)),
                  outer = d > 0 ? quotient(row, extent) : 0;
      const Index stride = static_cast<Index>(p.stride(k, d)), i = row - outer * extent;
      const bool is_last = d > 0 && i + 1 == extent;
      to.row += i * stride;
      to.next += (!goes_on ? i : is_last ? 0 : i + 1) * stride;
      goes_on = goes_on && is_last;
      row = outer;
    }
    return to;
  }
};

/// Inputs of the set Flat are as dense as the outputs. The others are dense along rows, forwards or
/// backwards, as Wide says (input_access), or have one element for a row.
template <int V, unsigned Wide, unsigned Flat, int K, class... In>
struct across_inputs {
  template <int R, int First, class P, class Index>
  __device__ void load(const P&, const place_across<Index>&) {}
};
template <int V, unsigned Wide, unsigned Flat, int K, class T, class... Rest>
struct across_inputs<V, Wide, Flat, K, T, Rest...> : across_inputs<V, Wide, Flat, K + 1, Rest...> {
  static constexpr bool is_flat = K < 32 && (Flat >> (K % 32) & 1u) != 0;
  static constexpr input_access access = input_access::of(Wide, K);
  packed<T, V, (is_flat || access.moves()) && sizeof(T) * V >= 4> r;

  /// Operand `First` is the first input.
  template <int R, int First, class P, class Index>
  __device__ void load(const P& p, const place_across<Index>& place) {
    const char* const from = p.template pointer<const char>(First + K);
    if constexpr (is_flat) {  // the last vector has a word of the input, and may be read as a whole
      r = *reinterpret_cast<const decltype(r)*>(from + place.first * static_cast<Index>(sizeof(T)));
    } else {
      const auto offsets = row_offsets<Index>::template of<R>(p, First + K, place.row);
      const char *const row = from + offsets.row, *const next = from + offsets.next;
      const i32 left = place.template bytes_of_row<T, V>();
      if constexpr (access.is_backwards) {  // the lanes of the row are the last ones in memory
        constexpr i32 size = sizeof(T), bytes = size * V;
        r = read_part<T, V>(row - place.column * size - (bytes - size), bytes - left, bytes);
        if (place.goes_on) {
          r = joined(read_part<T, V>(next + left - (bytes - size), 0, bytes - left), r,
                     V - static_cast<i32>(place.left));
        }
      } else if constexpr (access.is_wide) {
        r = read_part<T, V>(row + place.column * static_cast<Index>(sizeof(T)), 0, left);
        if (place.goes_on) {
          r = joined(r, read_part<T, V>(next - left, left, sizeof(T) * V),
                     static_cast<i32>(place.left));
        }
      } else {
        const auto a = *reinterpret_cast<const vec<T, 1>*>(row),
                   b = *reinterpret_cast<const vec<T, 1>*>(place.goes_on ? next : row);
#pragma unroll
        for (int lane = 0; lane < V; ++lane) {
          *reinterpret_cast<vec<T, 1>*>(&r.v.v[lane]) = lane < place.left ? a : b;
        }
      }
    }
    across_inputs<V, Wide, Flat, K + 1, Rest...>::template load<R, First>(p, place);
  }
  __device__ T get(int lane) const { return r.get(access.is_backwards ? V - 1 - lane : lane); }
};
/// Of a side operand nothing is read before the position is known.
template <int V, unsigned Wide, unsigned Flat, int K, class T, int First, int Axes, class... Rest>
struct across_inputs<V, Wide, Flat, K, side<T, First, Axes>, Rest...>
    : across_inputs<V, Wide, Flat, K + 1, Rest...> {
  const char* row;

  template <int R, int FirstInput, class P, class Index>
  __device__ void load(const P& p, const place_across<Index>& place) {
    row = p.template pointer<const char>(FirstInput + K) +
          row_offsets<Index>::template of<R>(p, FirstInput + K, place.row).row;
    across_inputs<V, Wide, Flat, K + 1, Rest...>::template load<R, FirstInput>(p, place);
  }
};
template <int K, int V, unsigned Wide, unsigned Flat, class T, int First, int Axes, class... Rest>
__device__ const auto& side_rows(
    const across_inputs<V, Wide, Flat, K, side<T, First, Axes>, Rest...>& in) {
  return in;
}
template <int K, int V, unsigned Wide, unsigned Flat, class T, class... Rest>
__device__ T loaded_at(const across_inputs<V, Wide, Flat, K, T, Rest...>& in, int lane) {
  return in.get(lane);
}

template <class M, int R, class Index, int V, unsigned Wide, unsigned Flat>
struct map_across_body;

template <class E, class Out, int S, class... In, int R, class Index, int V, unsigned Wide,
          unsigned Flat>
struct map_across_body<map_of<E, Out, S, In...>, R, Index, V, Wide, Flat> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = Types::count, outputs = Types::outputs;
  using P = params<K, S, R>;
  using Inputs = across_inputs<V, Wide, Flat, 0, In...>;
  using Row = written_row<E, Out, (Wide | Flat)>;  // what moves along rows

  static constexpr bool copies = copies_rows<typename Row::expression, typename Row::type, Wide>;
  /// On a multiprocessor at least, unless it is 0. Six leave 40 registers, which are too few for
  /// rows of halves of which some are not written.
  static constexpr bool needs_more = !Row::is_always_written && sizeof(typename Row::type) == 2;
  static constexpr int blocks = !copies ? 0 : needs_more ? 5 : 6;
  static_assert(copies || !(is_side_operand<In> || ...), "rows of side operands are only copied");

  /// The vector from element `first` on, of n.
  static __device__ place_across<Index> place_of(const P& p, Index first, Index n) {
    const Index columns = static_cast<Index>(p.extent(R - 1)), row = quotient(first, columns);
    const Index column = first - row * columns, left = columns - column;
    return {first, row, column, columns, left, left < V && left < n - first};
  }
  /// How many elements the vector from `first` on has.
  static __device__ int count_of(Index first, Index n) {
    return n - first < V ? static_cast<int>(n - first) : V;
  }

  /// The lanes of `count` that are written: the first ones, which the row has, the others, or both.
  struct written_lanes {
    int begin, end;
    __device__ written_lanes(int begin, int end) : begin(begin), end(end) {}
    __device__ written_lanes(int left, int count, bool has_row, bool has_next) {
      begin = has_row ? 0 : left;
      end = has_next ? count : has_row ? left : 0;
    }
    __device__ bool has(int lane) const { return lane >= begin && lane < end; }
    __device__ bool are_all() const { return begin == 0 && end == V; }
  };

  /// Of rows that a warp copies: its elements, and how many rows these are of at most, since rows
  /// have V elements or more. Two vectors of a lane are in flight together.
  static constexpr int warp = 32, most_warps = 8, together = 2,
                       warp_elements = warp * V * across_copies,
                       warp_rows = copies ? warp * across_copies + 1 : 1;
  static_assert(across_copies % together == 0);
  static constexpr u64 not_written = 0;  ///< no row is there
  static __device__ bool is_written(u64 row) {
    return Row::is_always_written || row != not_written;
  }

  /// Where a row is read, if it is written.
  static __device__ u64 source_of(const P& p, Index row) {
    const Index columns = static_cast<Index>(p.extent(R - 1));
    Inputs in;
    in.template load<R, outputs>(
        p, place_across<Index>{row * columns, row, 0, columns, columns, false});
    const vector_context<P, Inputs> here{p, in, 0, 0};
    if (!Row::is_written(here)) return not_written;
    using Pick = only_pick<typename Row::expression>;
    return reinterpret_cast<u64>(side_rows<Pick::input>(in).row + Pick::offset(here));
  }

  /// The rows of which a warp copies elements. These are counted from the beginning of the first
  /// row on, from `begin` to `past`.
  struct copied_rows {
    Index columns, first_row, begin, past;
    bool are_long;
    u32 inverse;   ///< of other rows, the quotient is the high word of a product
    u64* sources;  ///< where a row is read, less where it is in the count; memory of the warp

    __device__ copied_rows(const P& p, Index first, Index n, u64* memory)
        : columns(static_cast<Index>(p.extent(R - 1))),
          first_row(quotient(first, columns)),
          begin(first - first_row * columns),
          past(begin + (n - first < warp_elements ? n - first : Index{warp_elements})),
          are_long(columns >= warp_elements),
          inverse(0xffffffffu / static_cast<u32>(sizeof(Index) > 4 && are_long ? V : columns) + 1),
          sources(memory) {}
    __device__ int row_of(Index at) const {
      return are_long ? static_cast<int>(at >= columns)
                      : static_cast<int>(u64{static_cast<u32>(at)} * inverse >> 32);
    }
    /// Each by one lane.
    __device__ void look_up(const P& p, int lane) const {
      const int last = row_of(past - 1);
#pragma unroll 1
      for (int row = lane; row <= last; row += warp) {
        const u64 source = source_of(p, first_row + row);
        const u64 before = static_cast<u64>(row * columns) * Types::size_of(0);
        sources[row] = is_written(source) ? source - before : not_written;
      }
      __syncwarp();
    }
  };

  /// The elements of a vector: of a row, and where it ends the first ones of the next row.
  template <class T>
  struct copied_vector {
    using Words = unaligned_words<T, V>;
    static constexpr i32 size = sizeof(T);
    Words words;
    i32 left;   ///< bytes that the row has
    u64 after;  ///< where the vector would begin in the next row
    bool has_row, has_next;

    __device__ void read(const copied_rows& rows, Index at) {
      at = at < rows.past ? at : rows.past - 1;
      const int row = rows.row_of(at);
      const Index of_row = rows.columns - (at - row * rows.columns);
      left = of_row < V ? static_cast<i32>(of_row) * size : V * size;
      const bool goes_on = of_row < V && of_row < rows.past - at;
      const u64 here = rows.sources[row], next = goes_on ? rows.sources[row + 1] : not_written;
      const u64 byte = static_cast<u64>(at) * size;
      has_row = is_written(here), has_next = goes_on && is_written(next);
      after = next + byte;
      words.read_first(here + byte, has_row ? left : Words::none);
      if (!Words::begins_in_word && has_next) words.read_last(after, left);
    }
    __device__ packed<T, V> vector() const {
      const packed<T, V> of_row = words.vector();
      if (!Words::begins_in_word || !has_next) return of_row;
      Words rest;  // in lines that other lanes have read
      rest.read_last(after, left);
      return joined(of_row, rest.vector(), left / size);
    }
    /// Those of the first `count` lanes that are written.
    __device__ written_lanes lanes(int count) const {
      if constexpr (Row::is_always_written) return {0, count};
      return {left / size < count ? left / size : count, count, has_row, has_next};
    }
  };

  /// Copies the elements of a warp, from `first` on. Of vectors in flight all loads come before the
  /// stores.
  static __device__ void copy(const P& p, Index first, int lane, u64* memory, Index n, i64 found) {
    using T = typename only_pick<typename Row::expression>::type;
    const copied_rows rows(p, first, n, memory);
    rows.look_up(p, lane);
    if (found != 0) return;
    char* const to =
        p.template pointer<char>(0) + (first - rows.begin) * static_cast<Index>(sizeof(T));
#pragma unroll 1
    for (Index next = rows.begin; next < rows.past; next += together * warp * V) {
      copied_vector<T> of[together];
      const auto place = [&](int k) { return next + (k * warp + lane) * V; };
#pragma unroll
      for (int k = 0; k < together; ++k) of[k].read(rows, place(k));
      loads_are_above();
#pragma unroll
      for (int k = 0; k < together; ++k) {
        const packed<T, V> out = of[k].vector();
        char* const at = to + place(k) * static_cast<Index>(sizeof(T));
        const written_lanes lanes = of[k].lanes(count_of(place(k), rows.past));
        if (lanes.are_all()) {
          *reinterpret_cast<packed<T, V>*>(at) = out;
        } else if (lanes.begin < lanes.end) {
          store_lanes<T, V>(reinterpret_cast<const char*>(&out), lanes.begin, lanes.end, at);
        }
      }
    }
  }

  /// Computes the vector from `first` on.
  static __device__ void compute(const P& p, Index first, Index n, i64 found) {
    using Context = vector_context<P, Inputs>;
    const auto place = place_of(p, first, n);
    Inputs in;
    in.template load<R, outputs>(p, place);
    const int count = count_of(first, n);
    const written_lanes lanes(
        place.left < count ? static_cast<int>(place.left) : count, count,
        Row::is_written(Context{p, in, i64{first}, 0}),
        !place.goes_on || Row::is_written(Context{p, in, i64{first} + V - 1, V - 1}));
    char* to[outputs];
#pragma unroll
    for (int k = 0; k < outputs; ++k) {
      to[k] = p.template pointer<char>(k) + first * static_cast<Index>(Types::size_of(k));
    }
    computed<V, typename Row::expression, typename Row::type> out;
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      if (calls_user_functions<E> && !lanes.has(lane)) continue;
      out.set(lane, Context{p, in, i64{first} + lane, lane});
    }
    if (found != 0) return;
    if (lanes.are_all()) {
      fetch(out, to);
      out.store(to);
    } else if (lanes.begin < lanes.end) {
      out.store_part(lanes.begin, lanes.end, to);
    }
  }

  /// A thread computes V elements, or copies across_copies times as many; the last ones those that
  /// are left.
  static __device__ void run(const P& p, int backwards) {
    check_rows<map_of<E, Out, S, In...>, copies, R, Index>(p);
    const Index n = static_cast<Index>(p.kept());
    const u32 block = backwards != 0 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const Index of_block = static_cast<Index>(blockDim.x) * V * (copies ? across_copies : 1);
    if constexpr (copies) {
      __shared__ u64 sources[most_warps][warp_rows];
      const u32 number = threadIdx.x / warp;
      const Index first =
          static_cast<Index>(block) * of_block + static_cast<Index>(number) * warp_elements;
      if (first >= n) return;
      copy(p, first, static_cast<int>(threadIdx.x % warp), sources[number], n,
           found_by_check<In...>(p));
    } else {
      const Index first =
          static_cast<Index>(block) * of_block + static_cast<Index>(threadIdx.x) * V;
      if (first < n) compute(p, first, n, found_by_check<In...>(p));
    }
  }
  using param_type = P;
};

/// Rows have V elements or more. Outputs, and inputs of the set Flat, are dense and aligned to
/// vectors; a vector of the widest of them has at most 16 bytes. Inputs that move along rows, as
/// Wide says, are aligned to their elements, the sizes of which are powers of two. A side operand
/// is one of these, forwards; rows of it are all that is stored, and no other input moves along
/// rows.
template <class M, int R, int IndexBytes, int V, unsigned Wide, unsigned Flat>
__global__ void __launch_bounds__(
    256, (map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::blocks))
    map_across(const __grid_constant__
               typename map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::param_type p,
               int backwards) {
  wait_for_stream();
  map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::run(p, backwards);
}

}  // namespace quarry::kernels
