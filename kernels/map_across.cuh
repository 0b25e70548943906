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
  const char *row, *next;
  i64 begin;  // of the vector in the row, in bytes
  i32 left;   // bytes of the vector that the row has

  template <int R, int FirstInput, class P, class Index>
  __device__ void load(const P& p, const place_across<Index>& place) {
    const char* const from = p.template pointer<const char>(FirstInput + K);
    const auto offsets = row_offsets<Index>::template of<R>(p, FirstInput + K, place.row);
    row = from + offsets.row, next = from + offsets.next;
    begin = i64{place.column} * sizeof(T);
    left = place.template bytes_of_row<T, V>();
    across_inputs<V, Wide, Flat, K + 1, Rest...>::template load<R, FirstInput>(p, place);
  }
  /// Reads the words of the vector that the row, or the next one, has; none unless it is read.
  __device__ void read_row(unaligned_words<T, V>& words, i64 offset, bool is_read) const {
    words.read(row + offset + begin, 0, is_read ? left : words.none);
  }
  __device__ void read_next(unaligned_words<T, V>& words, i64 offset) const {
    words.read(next + offset - left, left, sizeof(T) * V);
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

  /// The lanes of `count` that are written: those of the row, of the next one, or both.
  struct written_lanes {
    int begin, end;
    __device__ written_lanes(const place_across<Index>& place, int count, bool has_row,
                             bool has_next) {
      const int left = place.left < count ? static_cast<int>(place.left) : count;
      begin = has_row ? 0 : left;
      end = has_next ? count : has_row ? left : 0;
    }
    __device__ bool has(int lane) const { return lane >= begin && lane < end; }
    __device__ bool are_all() const { return begin == 0 && end == V; }
  };

  /// Copies the vectors from `first` on, `step` elements apart; the first one is there. All loads
  /// of their rows come before the stores.
  static __device__ void copy(const P& p, Index first, Index step, Index n, i64 found) {
    using Pick = only_pick<typename Row::expression>;
    using T = typename Pick::type;
    using Words = unaligned_words<T, V>;
    place_across<Index> place[across_copies];
    Inputs in[across_copies];
#pragma unroll
    for (int k = 0; k < across_copies; ++k) {
      const Index at = first + static_cast<Index>(k) * step;
      place[k] = place_of(p, at < n ? at : first, n);
      in[k].template load<R, outputs>(p, place[k]);
    }
    Words words[across_copies];
    bool has_row[across_copies], has_next[across_copies];
    i64 offset_of_next[across_copies];
#pragma unroll
    for (int k = 0; k < across_copies; ++k) {
      const vector_context<P, Inputs> here{p, in[k], 0, 0}, behind{p, in[k], 0, V - 1};
      has_row[k] = Row::is_written(here);
      has_next[k] = place[k].goes_on && Row::is_written(behind);
      offset_of_next[k] = Pick::offset(behind);
      const auto& rows = side_rows<Pick::input>(in[k]);
      rows.read_row(words[k], Pick::offset(here), has_row[k]);
      if (!Words::begins_in_word && has_next[k]) rows.read_next(words[k], offset_of_next[k]);
    }
    loads_are_above();
#pragma unroll
    for (int k = 0; k < across_copies; ++k) {
      if (k > 0 && place[k].first == first) return;
      const int count = count_of(place[k].first, n);
      const int left = place[k].left < count ? static_cast<int>(place[k].left) : count;
      packed<T, V> out = words[k].vector();
      if (Words::begins_in_word && has_next[k]) {
        Words next;
        side_rows<Pick::input>(in[k]).read_next(next, offset_of_next[k]);
        out = joined(out, next.vector(), left);
      }
      if (found != 0) return;
      char* const to = p.template pointer<char>(0) + place[k].first * static_cast<Index>(sizeof(T));
      const written_lanes lanes(place[k], count, has_row[k], has_next[k]);
      if (lanes.are_all()) {
        *reinterpret_cast<packed<T, V>*>(to) = out;
      } else if (lanes.begin < lanes.end) {
        store_lanes<T, V>(reinterpret_cast<const char*>(&out), lanes.begin, lanes.end, to);
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
        place, count, Row::is_written(Context{p, in, i64{first}, 0}),
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

  /// A thread computes V elements, or copies across_copies times as many, blockDim.x vectors apart;
  /// the last ones those that are left.
  static __device__ void run(const P& p, int backwards) {
    check_rows<map_of<E, Out, S, In...>, copies, R, Index>(p);
    constexpr int vectors = copies ? across_copies : 1;
    const Index n = static_cast<Index>(p.kept()), step = static_cast<Index>(blockDim.x) * V;
    const u32 block = backwards != 0 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const Index first =
        static_cast<Index>(block) * step * vectors + static_cast<Index>(threadIdx.x) * V;
    if (first >= n) return;
    const i64 found = found_by_check<In...>(p);
    if constexpr (copies) {
      copy(p, first, step, n, found);
    } else {
      compute(p, first, n, found);
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
__global__ void __launch_bounds__(256)
    map_across(const __grid_constant__
               typename map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::param_type p,
               int backwards) {
  wait_for_stream();
  map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::run(p, backwards);
}

}  // namespace quarry::kernels
