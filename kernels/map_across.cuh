// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/unaligned.cuh"
#include "kernels/vector.cuh"

/// The kernel of maps of dense outputs with inputs that are the same for several rows, or for a
/// whole row:
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

/// The first `lanes` elements of a, then those of b.
template <class T, int V>
__device__ packed<T, V> joined(const packed<T, V>& a, const packed<T, V>& b, i32 lanes) {
  packed<T, V> result;
  if constexpr (sizeof(result) < 4) {
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      reinterpret_cast<vec<T, 1>*>(&result)[lane] =
          reinterpret_cast<const vec<T, 1>*>(lane < lanes ? &a : &b)[lane];
    }
  } else {
#pragma unroll
    for (int i = 0; i < packed<T, V>::words; ++i) {
      const i32 bits = 8 * static_cast<i32>(sizeof(T)) * lanes - 32 * i;
      const u32 mask = static_cast<u32>((u64{~0u} << between(bits, 0, 32)) >> 32);
      result.word[i] = (a.word[i] & mask) | (b.word[i] & ~mask);
    }
  }
  return result;
}

/// Inputs of the set Flat are as dense as the outputs. The others are dense along rows (Wide), or
/// have one element for a row.
template <int V, unsigned Wide, unsigned Flat, int K, class... In>
struct across_inputs {
  template <int R, int First, class P, class Index>
  __device__ void load(const P&, const place_across<Index>&) {}
};
template <int V, unsigned Wide, unsigned Flat, int K, class T, class... Rest>
struct across_inputs<V, Wide, Flat, K, T, Rest...> : across_inputs<V, Wide, Flat, K + 1, Rest...> {
  static constexpr bool is_flat = K < 32 && (Flat >> (K % 32) & 1u) != 0;
  static constexpr bool is_wide = K < 32 && (Wide >> (K % 32) & 1u) != 0;
  packed<T, V, (is_flat || is_wide) && sizeof(T) * V >= 4> r;

  /// Operand `First` is the first input.
  template <int R, int First, class P, class Index>
  __device__ void load(const P& p, const place_across<Index>& place) {
    const char* const from = p.template pointer<const char>(First + K);
    if constexpr (is_flat) {  // the last vector has a word of the input, and may be read as a whole
      r = *reinterpret_cast<const decltype(r)*>(from + place.first * static_cast<Index>(sizeof(T)));
    } else {
      const auto offsets = row_offsets<Index>::template of<R>(p, First + K, place.row);
      const char *const row = from + offsets.row, *const next = from + offsets.next;
      if constexpr (is_wide) {
        constexpr Index size = sizeof(T);
        const Index end = place.columns * size;
        r = read_unaligned<T, V, Index>(row, place.column * size, end);
        if (place.goes_on) {
          r = joined(r, read_unaligned<T, V, Index>(next, -place.left * size, end),
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
  __device__ T get(int lane) const { return r.get(lane); }
};
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

  /// A thread computes V elements, the last one those that are left.
  static __device__ void run(const P& p, int backwards) {
    const Index n = static_cast<Index>(p.kept());
    const u32 block = backwards != 0 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const Index first = (static_cast<Index>(block) * static_cast<Index>(blockDim.x) +
                         static_cast<Index>(threadIdx.x)) *
                        V;
    if (first >= n) return;
    const Index columns = static_cast<Index>(p.extent(R - 1)), row = quotient(first, columns);
    const Index column = first - row * columns, left = columns - column;
    const place_across<Index> place{first,   row,  column,
                                    columns, left, left < V && left < n - first};
    Inputs in;
    in.template load<R, outputs>(p, place);
    computed<V, E, Out> out;
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      if (calls_user_functions<E> && lane >= n - first) continue;
      out.set(lane, vector_context<P, Inputs>{p, in, i64{first} + lane, lane});
    }
    char* to[outputs];
#pragma unroll
    for (int k = 0; k < outputs; ++k) {
      to[k] = p.template pointer<char>(k) + first * static_cast<Index>(Types::size_of(k));
    }
    if (n - first >= V) {
      fetch(out, to);
      out.store(to);
    } else {
      out.store_part(0, static_cast<int>(n - first), to);
    }
  }
  using param_type = P;
};

/// Rows have V elements or more. Outputs, and inputs of the set Flat, are dense and aligned to
/// vectors; a vector of the widest of them has at most 16 bytes. Inputs of the set
/// Wide are aligned to their elements, the sizes of which are powers of two.
template <class M, int R, int IndexBytes, int V, unsigned Wide, unsigned Flat>
__global__ void __launch_bounds__(256)
    map_across(const __grid_constant__
               typename map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::param_type p,
               int backwards) {
  wait_for_stream();
  map_across_body<M, R, index_of<IndexBytes>, V, Wide, Flat>::run(p, backwards);
}

}  // namespace quarry::kernels
