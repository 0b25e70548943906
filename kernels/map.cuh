// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/check.cuh"
#include "kernels/map_addresses.cuh"
#include "kernels/packed.cuh"
#include "kernels/params.cuh"
#include "kernels/row_places.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/vector.cuh"

/// The kernels of maps:
///   map_flat     all operands dense and in one order: a thread computes a vector of V elements
///   map_strided  any layout of any rank: consecutive threads are along the innermost axis
/// (most of them are written as PTX instead: src/backend/cuda/ptx) and, in files of their own,
/// map_across and map_unaligned: rows that are no whole vectors, and map_tiled: inputs that lie in
/// another order than the output.
namespace quarry::kernels {

/// The context (node.hpp) of element i of dense operands; operand `First` is the first input.
template <class P, int First>
struct element_context {
  const P& p;
  i64 i;
  template <class T, int K>
  __device__ T input() const {
    return load<T>(p.template pointer<const T>(First + K) + i);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
  __device__ i64 index() const { return i; }
};

/// How many vectors of V elements a thread has: see chosen_vectors().
template <class E, int V, class... In>
inline constexpr int vectors_of_thread = 1;
template <class P, class E, int V, class... In>
inline constexpr int vectors_of_thread<guarded<P, E>, V, In...> =
    chosen_vectors(V* static_cast<int>((sizeof(In) + ... + 0)));

/// Where an expression is stored, and what.
template <class E>
struct chosen_value;
template <class P, class E>
struct chosen_value<guarded<P, E>> {
  using condition = P;
  using value = E;
};

/// Whether a map with V elements in a vector stores one value where a byte says: lanes then read 16
/// of these together.
template <class M, int V>
inline constexpr bool reads_bytes_first = false;
template <class P, class E, class T, int S, class In, int V>
inline constexpr bool reads_bytes_first<map_of<guarded<P, E>, T, S, In>, V> =
    is_constant<E> && sizeof(In) == 1 && !is_side_operand<In> && V > 1 && V < 16;

/// A bit for each of 16 bytes that a condition is true of.
template <class Condition>
struct bits_where {
  template <class P, class... In>
  static __device__ u32 of(const P& p, const loaded<16, ~0u, 0, In...>& in, i64 i) {
    u32 bits = 0;
#pragma unroll
    for (int l = 0; l < 16; ++l) {
      if (Condition{}(lane_context<P, 16, ~0u, In...>{p, in, i + l, l})) bits |= u32{1} << l;
    }
    return bits;
  }
};
template <>
struct bits_where<in<bool, 0>> {
  template <class P>
  static __device__ u32 of(const P& /*p*/, const loaded<16, ~0u, 0, bool>& in, i64 /*i*/) {
    u32 word[4], bits = 0;
    memcpy(word, &in.r, sizeof word);
#pragma unroll
    for (int k = 0; k < 4; ++k) bits |= bytes_not_0(word[k]) << (4 * k);
    return bits;
  }
};

template <class M, int V>
struct map_flat_body;

template <class E, class Out, int S, class... In, int V>
struct map_flat_body<map_of<E, Out, S, In...>, V> {
  using Types = operands_of<Out, In...>;
  using P = params<Types::count, S, 0>;

  /// The addresses of element i of all operands.
  static __device__ void locate(const P& p, i64 i, char** at) {
#pragma unroll
    for (int k = 0; k < Types::count; ++k) {
      at[k] = p.template pointer<char>(k) + i * static_cast<i64>(Types::size_of(k));
    }
  }

  /// How many of a thread's vectors are computed before they are stored.
  template <int Count>
  static constexpr int together = Count<(V > 2 ? 4 : 2) ? Count : V> 2 ? 4 : 2;

  /// Stores vectors that begin at elements place(0), place(1), ...: what this reads of the output
  /// comes before the first store.
  template <int N, class Place>
  static __device__ void store(const P& p, computed<V, E, Out> (&out)[N], const Place& place) {
    char* at[Types::count];
    if constexpr (N > 1) compare(out);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      locate(p, place(k), at);
      fetch(out[k], at);
    }
#pragma unroll
    for (int k = 0; k < N; ++k) {
      locate(p, place(k), at);
      out[k].store(at);
    }
  }

  /// Computes `Count` vectors that are there, numbers `first`, first + step, ...
  template <int Count>
  static __device__ void run_vectors(const P& p, i64 first, i64 step) {
    loaded<V, ~0u, 0, In...> in[Count];
    char* at[Types::count];
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      locate(p, (first + k * step) * V, at);
      in[k].load(at + Types::outputs);
    }
    loads_are_above();
#pragma unroll
    for (int begin = 0; begin < Count; begin += together<Count>) {
      computed<V, E, Out> out[together<Count>];
      const auto place = [&](int k) { return (first + (begin + k) * step) * V; };
#pragma unroll
      for (int k = 0; k < together<Count>; ++k) {
        const i64 i = place(k);
#pragma unroll
        for (int lane = 0; lane < V; ++lane) {
          out[k].set(lane, lane_context<P, V, ~0u, In...>{p, in[begin + k], i + lane, lane});
        }
      }
      store(p, out, place);
    }
  }
  /// Stores one value, of 512 elements of a warp from `first` on, where bytes say. Where few do,
  /// each lane stores those of its own bytes.
  static __device__ void run_bytes(const P& p, i64 first) {
    constexpr u32 every_lane = 0xffffffffu;
    constexpr int bytes = 16, vectors = bytes / V;
    const int lane = static_cast<int>(threadIdx.x % 32);
    char* at[Types::count];
    loaded<bytes, ~0u, 0, In...> in;
    locate(p, first + lane * bytes, at);
    in.load(at + Types::outputs);
    using Context = lane_context<P, bytes, ~0u, In...>;
    const u32 own =
        bits_where<typename chosen_value<E>::condition>::of(p, in, first + lane * bytes);
    vec<Out, 1> value;
    value.v[0] = convert<Out>(typename chosen_value<E>::value{}(Context{p, in, first, 0}));
    if (__popc(__ballot_sync(every_lane, (own & (own - 1)) != 0)) < 4) {
      for (u32 rest = own; rest != 0; rest &= rest - 1) {
        reinterpret_cast<vec<Out, 1>*>(at[0])[lowest_bit(rest)] = value;
      }
      return;
    }
#pragma unroll
    for (int begin = 0; begin < vectors; begin += together<vectors>) {
      computed<V, E, Out> out[together<vectors>];
      const auto place = [&](int k) { return (begin + k) * 32 * V + lane * V; };
#pragma unroll
      for (int k = 0; k < together<vectors>; ++k) {
        const u32 of_bytes = __shfl_sync(every_lane, own, place(k) / bytes, 32);
        out[k].kept = of_bytes >> place(k) % bytes & out[k].all;
        out[k].last = value;
#pragma unroll
        for (int l = 0; l < V; ++l) *out[k].lane_of(out[k].v, l) = value;
      }
      store(p, out, [&](int k) { return first + place(k); });
    }
  }
  /// Computes vector `number`. The last n % V elements have a number each.
  static __device__ void run_one(const P& p, i64 number) {
    const i64 n = p.kept();
    if ((number + 1) * V <= n) {
      run_vectors<1>(p, number, 0);
    } else if constexpr (V > 1) {
      const i64 i = number + static_cast<i64>(static_cast<u64>(n) / V) * (V - 1);
      if (i >= n) return;
      char* at[Types::count];
      locate(p, i, at);
      computed<1, E, Out> out;
      out.set(0, element_context<P, Types::outputs>{p, i});
      out.store(at);
    }
  }

  /// A thread computes a vector, or several that are blockDim.x apart.
  static __device__ void run(const P& p, int backwards) {
    constexpr int vectors = vectors_of_thread<E, V, In...>;
    const i64 block = backwards != 0 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const i64 step = blockDim.x, first = block * vectors * step + threadIdx.x;
    if (vectors == 1) return run_one(p, first);
    if constexpr (reads_bytes_first<map_of<E, Out, S, In...>, V>) {
      static_assert(V * vectors == 16);
      const bool is_there = (block + 1) * step * 16 <= p.kept();
      if (is_there && p.address(Types::outputs) % 16 == 0)
        return run_bytes(p, block * step * 16 + threadIdx.x / 32 * 512);
    }
    const i64 last_of_warp = (first | 31) + (vectors - 1) * step;
    if ((last_of_warp + 1) * V <= p.kept()) {
      return run_vectors<vectors>(p, first, step);
    }
#pragma unroll 1
    for (int k = 0; k < vectors; ++k) run_one(p, first + k * step);
  }
  using param_type = P;
};

/// V * sizeof of the widest operand is at most 16 bytes; every pointer is aligned to V elements.
/// With `backwards` the first blocks compute the last elements: those are what the map before it,
/// in the other order, accessed last, so that they are still in the L2 cache.
template <class M, int V>
__global__ void __launch_bounds__(256)
    map_flat(const __grid_constant__ typename map_flat_body<M, V>::param_type p, int backwards) {
  wait_for_stream();
  map_flat_body<M, V>::run(p, backwards);
}

/// Loads the inputs' vectors of V elements from number i on, of n along the only axis of a map with
/// one output: load(addresses), or of the last vector what is there.
template <int V, class P, class Inputs, class Load>
__device__ void load_along(const P& p, i64 i, i64 n, Inputs& in, const Load& load) {
  char* at[P::at.operands];
#pragma unroll
  for (int k = 1; k < P::at.operands; ++k) at[k] = p.template pointer<char>(k) + i * p.stride(k, 0);
  if (i + V <= n) {
    load(at + 1);
  } else if (i < n) {
    in.load_part(at + 1, static_cast<int>(n - i));
  }
}

/// The block's place along the columns and the rows of a strided map.
struct place_of_block {
  u32 column = blockIdx.x, row = blockIdx.y;

  explicit __device__ place_of_block(int order) {
    if ((order & blocks_rows_first) != 0) {
      const u32 number = blockIdx.y * gridDim.x + blockIdx.x;
      column = number / gridDim.y;
      row = number - column * gridDim.y;
    }
    if ((order & blocks_backwards) != 0) row = gridDim.y - 1 - row;
  }
};

/// Calls run(row, by) for the rows of a thread of block `number`: Rows of them, `by` =
/// blockDim.y (a power of two) apart. The last rows, too few for that, are those of further blocks,
/// with `by` = 0: one row per thread, Rows times over, since a second copy of the code would take
/// as long to compile.
template <int Rows, class Index, class Run>
__device__ void for_each_row(Index rows, u32 number, const Run& run) {
  const Index by = static_cast<Index>(blockDim.y), y = static_cast<Index>(threadIdx.y);
  const Index block = static_cast<Index>(number);
  const Index whole = Rows > 1 ? rows & ~(Rows * by - 1) : 0, before = whole - whole / Rows;
#pragma unroll 1
  for (Index first = block * by; first + before < rows;
       first += static_cast<Index>(gridDim.y) * by) {
    const bool is_whole = first * Rows < whole;
    const Index row = (is_whole ? first * Rows : first + before) + y;
    if (row < rows) run(row, is_whole ? by : 0);
  }
}

/// Elements of a side operand have places of their own.
template <class E, class Out, unsigned Wide>
struct strided_row : written_row<E, Out, Wide> {};
template <class E, class T, int First, int Axes, unsigned Wide>
struct strided_row<E, side<T, First, Axes>, Wide> : whole_row<E, side<T, First, Axes>> {};

template <class M, int R, class Index, int Rows, int V, unsigned Wide>
struct map_strided_body;

template <class E, class Out, int S, class... In, int R, class Index, int Rows, int V,
          unsigned Wide>
struct map_strided_body<map_of<E, Out, S, In...>, R, Index, Rows, V, Wide> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = Types::count, outputs = Types::outputs;
  using P = params<K, S, R>;
  using Addresses = map_addresses<P, K, R, Index>;
  using Loaded = loaded<V, Wide, 0, In...>;
  using Row = strided_row<E, Out, Wide>;
  using Computed = computed<V, typename Row::expression, typename Row::type>;
  using Context = lane_context<P, V, Wide, In...>;
  /// Elements at computed places are read for all rows, so that the reads are in flight together:
  /// there is one at every place.
  static constexpr bool reads_all =
      picks_in<typename Row::expression> > 0 && !calls_user_functions<typename Row::expression>;

  /// By how many columns the grid begins before the first one, so that warps write whole 128-byte
  /// lines; 0 for short rows, of which too many threads would be idle.
  static __device__ Index lead(const P& p) {
    constexpr u32 size = Types::size_of(0);
    constexpr bool divides = size <= 16 && (size & (size - 1)) == 0;
    const bool dense = p.stride(0, R - 1) == static_cast<i64>(size);
    return divides && dense && p.extent(R - 1) >= lead_columns
               ? static_cast<Index>(p.address(0) % 128 / size)
               : 0;
  }

  static __device__ Computed compute(const P& p, const Loaded& in, i64 first) {
    Computed out;
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      out.set(lane, Context{p, in, first + lane, lane});
    }
    return out;
  }
  static __device__ i64 position(const P& p, Index row, Index column) {
    return static_cast<i64>(row) * p.extent(R - 1) + column;
  }

  /// Computes `Rows` rows, `by` apart, or one row where `by` is 0. All loads come before the
  /// stores, so that they are in flight together; an input may be an output, element for element.
  static __device__ void run_rows(const P& p, Index column, Index row, Index by, i64 found) {
    Loaded in[Rows];
    char* to[Rows][outputs];
    Addresses a(p, column, row);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (r > 0) a.next(p, column, row + r * by, by);
#pragma unroll
      for (int k = 0; k < outputs; ++k) to[r][k] = a.at[k];
      in[r].load(a.at + outputs);
    }
    loads_are_above();
    Computed out[Rows];
    bool is_written[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const i64 first = position(p, row + r * by, column);
      is_written[r] = Row::is_written(Context{p, in[r], first, 0});
      if (is_written[r] || reads_all) out[r] = compute(p, in[r], first);
    }
    if (found != 0) return;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (is_written[r]) fetch(out[r], to[r]);
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (is_written[r] && (r == 0 || by != 0)) out[r].store(to[r]);
    }
  }

  /// A thread computes V columns of Rows rows.
  static __device__ void run(const P& p, int order) {
    check_rows<map_of<E, Out, S, In...>, copies_rows<E, Out, Wide>, R, Index>(p);
    Index rows = 1;
#pragma unroll
    for (int d = 0; d < R - 1; ++d) rows *= static_cast<Index>(p.extent(d));
    const place_of_block block(order);
    const Index column = (static_cast<Index>(block.column) * static_cast<Index>(blockDim.x) +
                          static_cast<Index>(threadIdx.x)) *
                             V -
                         lead(p);
    if (column < 0 || column >= static_cast<Index>(p.extent(R - 1))) return;
    const i64 found = found_by_check<Out, In...>(p);
    for_each_row<Rows>(rows, block.row,
                       [&](Index row, Index by) { run_rows(p, column, row, by, found); });
  }
  using param_type = P;
};

/// V > 1 requires that the extent of the last axis is a multiple of V, that outputs are dense along
/// it, that every input is too (bit k of Wide for input k) or has the stride 0 along it, and that
/// all vectors are aligned.
template <class M, int R, int IndexBytes, int Rows, int V = 1, unsigned Wide = 0>
__global__ void __launch_bounds__(256)
    map_strided(const __grid_constant__
                typename map_strided_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::param_type p,
                int order) {
  wait_for_stream();
  map_strided_body<M, R, index_of<IndexBytes>, Rows, V, Wide>::run(p, order);
}

}  // namespace quarry::kernels
