// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/map.cuh"
#include "kernels/params.cuh"
#include "kernels/row_places.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/unaligned.cuh"
#include "kernels/vector.cuh"

/// The kernel of maps by vectors whose rows begin and end at any element:
///   map_unaligned  writes aligned vectors of the outputs; reads the aligned words of inputs that
///                  have the elements of such a vector, and shifts them in registers
namespace quarry::kernels {

/// The V elements of every input that a vector of the output takes. Those of which the row has none
/// have any value.
template <int V, unsigned Wide, int K, class Index, class... In>
struct unaligned_inputs {
  __device__ void load_same(const char* const*) {}
  __device__ void load(const char* const*, Index, Index) {}
};
template <int V, unsigned Wide, int K, class Index, class T, class... Rest>
struct unaligned_inputs<V, Wide, K, Index, T, Rest...>
    : unaligned_inputs<V, Wide, K + 1, Index, Rest...> {
  static constexpr input_access access = input_access::of(Wide, K);
  static constexpr int gap = access.has_gaps ? 2 : 1, read = access.moves() ? V * gap : 1;
  static constexpr Index size = sizeof(T);
  packed<T, read, (read > 1 && sizeof(T) * read >= 4)> r;

  /// What is the same for a row.
  __device__ void load_same(const char* const* at) {
    if constexpr (read == 1) r.v = *reinterpret_cast<const vec<T, 1>*>(at[K]);
    unaligned_inputs<V, Wide, K + 1, Index, Rest...>::load_same(at);
  }
  /// The rest, from `column` on, of rows that begin at `at` and have `columns` elements.
  __device__ void load(const char* const* at, Index column, Index columns) {
    if constexpr (access.is_backwards) {
      r = read_unaligned<T, V>(at[K] - (columns - 1) * size, (columns - V - column) * size,
                               columns * size);
    } else if constexpr (read > 1) {
      r = read_unaligned<T, read>(at[K], column * gap * size, ((columns - 1) * gap + 1) * size);
    }
    unaligned_inputs<V, Wide, K + 1, Index, Rest...>::load(at, column, columns);
  }
  __device__ T get(int lane) const {
    return r.get(read == 1 ? 0 : access.is_backwards ? V - 1 - lane : lane * gap);
  }
};
/// Of a side operand they are read when the position of the first lane is known; lanes with another
/// position are read one by one.
template <int V, unsigned Wide, int K, class Index, class T, int First, int Axes, class... Rest>
struct unaligned_inputs<V, Wide, K, Index, side<T, First, Axes>, Rest...>
    : unaligned_inputs<V, Wide, K + 1, Index, Rest...> {
  static constexpr bool is_wide = input_access::of(Wide, K).is_wide;
  static constexpr Index size = sizeof(T);
  const char* row;
  Index begin, end;
  i64 offset_read = 0;
  bool is_read = false;
  packed<T, V> r;

  __device__ void load_same(const char* const* at) {
    row = at[K];
    unaligned_inputs<V, Wide, K + 1, Index, Rest...>::load_same(at);
  }
  __device__ void load(const char* const* at, Index column, Index columns) {
    begin = column * size, end = columns * size;
    unaligned_inputs<V, Wide, K + 1, Index, Rest...>::load(at, column, columns);
  }
  __device__ packed<T, V> read_at(i64 offset) const {
    return read_unaligned<T, V>(row + offset, begin, end);
  }
  __device__ T get_at(int lane, i64 offset) {
    if constexpr (is_wide) {
      if (lane == 0) {
        r = read_at(offset);
        offset_read = offset, is_read = true;
      }
      if (is_read && offset == offset_read) return r.get(lane);
      return kernels::load<T>(row + offset + between<Index>(begin + lane * size, 0, end - size));
    } else {
      return kernels::load<T>(row + offset);
    }
  }
};
template <int K, int V, unsigned Wide, class Index, class T, int First, int Axes, class... Rest>
__device__ T side_at(unaligned_inputs<V, Wide, K, Index, side<T, First, Axes>, Rest...>& in,
                     int lane, i64 offset) {
  return in.get_at(lane, offset);
}
template <int K, int V, unsigned Wide, class Index, class T, int First, int Axes, class... Rest>
__device__ packed<T, V> side_vector(
    const unaligned_inputs<V, Wide, K, Index, side<T, First, Axes>, Rest...>& in, i64 offset) {
  return in.read_at(offset);
}
template <int K, int V, unsigned Wide, class Index, class T, class... Rest>
__device__ T loaded_at(const unaligned_inputs<V, Wide, K, Index, T, Rest...>& in, int lane) {
  return in.get(lane);
}

template <class M, int R, class Index, int Rows, int V, unsigned Wide>
struct map_unaligned_body;

template <class E, class Out, int S, class... In, int R, class Index, int Rows, int V,
          unsigned Wide>
struct map_unaligned_body<map_of<E, Out, S, In...>, R, Index, Rows, V, Wide> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = Types::count, outputs = Types::outputs;
  static constexpr u32 size = Types::size_of(0);
  using P = params<K, S, R>;
  using Addresses = map_addresses<P, K, R, Index>;
  using Inputs = unaligned_inputs<V, Wide, 0, Index, In...>;
  using Row = written_row<E, Out, Wide>;

  /// The first vector of a row begins at a multiple of so many bytes: warps write whole lines of
  /// long rows.
  static __device__ u32 line(Index columns) { return columns >= lead_columns ? 128 : V * size; }

  /// Computes `Rows` rows, `by` apart, or one row where `by` is 0: of each the vector that begins
  /// `ahead` elements behind the row's first line. All loads come before the stores; an input may
  /// be an output, element for element.
  static __device__ void run_rows(const P& p, Index ahead, Index row, Index by, i64 found) {
    const Index columns = static_cast<Index>(p.extent(R - 1));
    Inputs in[Rows];
    char* to[Rows][outputs];
    Index column[Rows];
    Addresses a(p, 0, row);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (r > 0) a.next(p, 0, row + r * by, by);
      in[r].load_same(a.at + outputs);
      const i64 first = static_cast<i64>(row + r * by) * columns;
      const vector_context<P, Inputs> here{p, in[r], first, 0};
      const i64 offset = Row::offset(here);
      const u32 begin = static_cast<u32>(reinterpret_cast<u64>(a.at[0] + offset));
      const u32 before = begin & (line(columns) - 1);
      column[r] = Row::is_written(here) ? ahead - static_cast<Index>(before / size) : columns;
#pragma unroll
      for (int k = 0; k < outputs; ++k) {
        to[r][k] = a.at[k] + offset + column[r] * static_cast<Index>(Types::size_of(k));
      }
      in[r].load(a.at + outputs, column[r], columns);
    }
    computed<V, typename Row::expression, typename Row::type> out[Rows];
    if constexpr (copies_rows<typename Row::expression, typename Row::type, Wide>) {
      using Pick = only_pick<typename Row::expression>;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const i64 offset = Pick::offset(vector_context<P, Inputs>{p, in[r], 0, 0});
        const auto vector = side_vector<Pick::input>(in[r], offset);
        memcpy(static_cast<void*>(&out[r].v), &vector, sizeof(vector));
      }
    } else {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (r > 0 && by == 0) break;
        const i64 position = static_cast<i64>(row + r * by) * columns + column[r];
#pragma unroll
        for (int lane = 0; lane < V; ++lane) {
          const bool is_there = column[r] >= -lane && column[r] < columns - lane;
          if (calls_user_functions<E> && !is_there) continue;
          out[r].set(lane, vector_context<P, Inputs>{p, in[r], position + lane, lane});
        }
      }
    }
    if (found != 0) return;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (r > 0 && by == 0) break;
      if (column[r] >= 0 && columns - column[r] >= V) {
        fetch(out[r], to[r]);
        out[r].store(to[r]);
      } else if (column[r] > -V && column[r] < columns) {
        out[r].store_part(part_begin(column[r]), part_end(columns - column[r]), to[r]);
      }
    }
  }
  static __device__ int part_begin(Index column) {
    return column < 0 ? static_cast<int>(-column) : 0;
  }
  static __device__ int part_end(Index left) { return left < V ? static_cast<int>(left) : V; }

  /// As map_strided: a thread computes a vector of each of Rows rows, the last rows one by one.
  static __device__ void run(const P& p, int order) {
    check_rows<map_of<E, Out, S, In...>, copies_rows<E, Out, Wide>, R, Index>(p);
    Index rows = 1;
#pragma unroll
    for (int d = 0; d < R - 1; ++d) rows *= static_cast<Index>(p.extent(d));
    const place_of_block block(order);
    const Index ahead = (static_cast<Index>(block.column) * static_cast<Index>(blockDim.x) +
                         static_cast<Index>(threadIdx.x)) *
                        V;
    const Index columns = static_cast<Index>(p.extent(R - 1));
    if (ahead - static_cast<Index>(line(columns) / size) >= columns) return;
    const i64 found = found_by_check<Out, In...>(p);
    for_each_row<Rows>(rows, block.row,
                       [&](Index row, Index by) { run_rows(p, ahead, row, by, found); });
  }
  using param_type = P;
};

/// Outputs are dense along the last axis, and as far from a vector as the first one. An input is
/// dense along it (bit k of Wide for input k), has every second element (bit 16 + k too), is dense
/// and backwards (bit 16 + k alone), or has the stride 0 along it; a side operand is dense or has
/// the stride 0. All are aligned to their elements, the
/// sizes of which are powers of two.
template <class M, int R, int IndexBytes, int Rows, int V, unsigned Wide>
__global__ void __launch_bounds__(256) map_unaligned(
    const __grid_constant__
    typename map_unaligned_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::param_type p,
    int order) {
  wait_for_stream();
  map_unaligned_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::run(p, order);
}

}  // namespace quarry::kernels
