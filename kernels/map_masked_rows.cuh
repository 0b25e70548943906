// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/vector.cuh"

/// The kernel of maps that store one constant into the rows for which a condition is true:
///   map_masked_rows  a thread evaluates the conditions of the rows that a vector of the output has
///                    something of; or, for longer rows, a lane that of a row, and the warp stores
///                    those for which it is true
namespace quarry::kernels {

/// A vector of 16 bytes as words, of which elements are parts.
template <class T>
struct constant_vector {
  static constexpr int V = 16 / sizeof(T);
  alignas(16) u32 word[4];

  explicit __device__ constant_vector(const T& value) {
    vec<T, 1> one;
    one.v[0] = value;
#pragma unroll
    for (int lane = 0; lane < V; ++lane) reinterpret_cast<vec<T, 1>*>(word)[lane] = one;
  }
  /// Bit k of `lanes` says that lane k is stored: the bytes of word w that are.
  static __device__ u32 bytes_of(u32 lanes, int w) {
    if constexpr (sizeof(T) == 1) {
      return ((lanes >> 4 * w & 15) * 0x00204081 & 0x01010101) * 255;
    } else if constexpr (sizeof(T) == 2) {
      const u32 pair = lanes >> 2 * w;
      return ((pair & 1) | (pair & 2) << 15) * 65535;
    } else {
      return (lanes >> 4 * w / static_cast<int>(sizeof(T)) & 1) != 0 ? ~0u : 0;
    }
  }
  __device__ void store(char* to) const {
    aligned_words<16> all;
#pragma unroll
    for (int w = 0; w < 4; ++w) all.word[w] = word[w];
    *reinterpret_cast<aligned_words<16>*>(to) = all;
  }
  __device__ void store_one(char* to) const {
    *reinterpret_cast<vec<T, 1>*>(to) = *reinterpret_cast<const vec<T, 1>*>(word);
  }
  /// Stores a vector, of which the lanes that are not `kept` stay as they were.
  __device__ void store_merged(u32 kept, const aligned_words<16>& old, char* to) const {
    aligned_words<16> all;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const u32 bytes = bytes_of(kept, w);
      all.word[w] = (word[w] & bytes) | (old.word[w] & ~bytes);
    }
    *reinterpret_cast<aligned_words<16>*>(to) = all;
  }
  __device__ void store_part(i32 begin, i32 end, char* to) const {
    store_lanes<T, V>(reinterpret_cast<const char*>(word), begin, end, to);
  }
};

template <class M>
struct map_masked_rows_body;

template <class C, class E, class Out, int S, class... In>
struct map_masked_rows_body<map_of<guarded<C, E>, Out, S, In...>> {
  using Types = operands_of<Out, In...>;
  using P = params<Types::count, S, 2>;
  using Inputs = loaded<1, 0, 0, In...>;
  using Context = lane_context<P, 1, 0, In...>;
  using Constant = constant_vector<Out>;
  static constexpr i32 V = Constant::V, size = sizeof(Out), row_count = 32;
  static constexpr u32 all = (u32{1} << V) - 1;

  static __device__ i32 lane() { return static_cast<i32>(threadIdx.x % 32); }

  /// The inputs of a row.
  struct row_inputs {
    Inputs in;
    __device__ void load(const P& p, i64 row) {
      char* at[Types::count];
#pragma unroll
      for (int k = 0; k < Types::count; ++k) {
        at[k] = p.template pointer<char>(k) + row * p.stride(k, 0);
      }
      in.load(at + Types::outputs);
    }
    __device__ bool is_chosen(const P& p, i64 row) const {
      return C{}(Context{p, in, row * p.extent(1), 0});
    }
  };

  /// The lanes from `begin` on before `end`.
  static __device__ u32 lanes(i32 begin, i32 end) {
    const u32 before_end = (u32{1} << (end < V ? end : V)) - 1;
    return before_end & ~((u32{1} << (begin < V ? begin : V)) - 1);
  }

  /// A thread has `chosen_row_vectors` vectors of all rows as one, of less than 2^31 elements.
  static __device__ void store_vectors(const P& p, const Constant& value) {
    constexpr int count = chosen_row_vectors;
    Out* const to = p.template pointer<Out>(0);
    const i32 rows = static_cast<i32>(p.extent(0)), columns = static_cast<i32>(p.extent(1));
    const i32 n = rows * columns;
    const i32 before = static_cast<i32>(p.address(0) % 16 / size);
    const i32 first =
        static_cast<i32>(blockIdx.x * (blockDim.x * count) + threadIdx.x) * V - before;
    const i32 step = static_cast<i32>(blockDim.x) * V;
    row_inputs here[count], next[count];
    i32 row[count], left[count];  // of the vector's first element; elements up to the row's end
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const i32 i = first + k * step;
      if (i >= n) continue;
      row[k] = i < 0 ? 0 : quotient(i, columns);
      left[k] = (row[k] + 1) * columns - i;
      here[k].load(p, row[k]);
      if (left[k] < V && row[k] + 1 < rows) next[k].load(p, row[k] + 1);
    }
    loads_are_above();
    u32 kept[count];
    aligned_words<16> old[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const i32 i = first + k * step;
      kept[k] = 0;
      if (i >= n) continue;
      if (here[k].is_chosen(p, row[k])) kept[k] = lanes(i < 0 ? -i : 0, left[k]);
      i32 end = left[k];
      if (end < V && row[k] + 1 < rows) {
        if (next[k].is_chosen(p, row[k] + 1)) kept[k] |= lanes(end, end + columns);
        end += columns;
      }
      for (i32 r = row[k] + 2; end < V && r < rows; ++r, end += columns) {
        row_inputs more;
        more.load(p, r);
        if (more.is_chosen(p, r)) kept[k] |= lanes(end, end + columns);
      }
      const bool is_inside = i >= 0 && i + V <= n;
      if (kept[k] != 0 && kept[k] != all && is_inside) {
        old[k] = *reinterpret_cast<const aligned_words<16>*>(to + i);
      }
    }
    loads_are_above();
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const i32 i = first + k * step;
      if (kept[k] == 0) continue;
      char* const at = reinterpret_cast<char*>(to + i);
      if (i >= 0 && i + V <= n) {
        if (kept[k] == all) {
          value.store(at);
        } else {
          value.store_merged(kept[k], old[k], at);
        }
      } else {
        for (i32 l = 0; l < V; ++l) {
          if ((kept[k] >> l & 1) != 0) value.store_one(at + l * size);
        }
      }
    }
  }

  /// Of groups `first`, first + 1, ... a bit for each row for which the condition is true: lane g
  /// has those of the g-th.
  static __device__ u32 choose(const P& p, i64 first, int groups) {
    row_inputs of[most_row_groups];
    const auto row_of = [&](int g) { return (first + g) * row_count + lane(); };
#pragma unroll
    for (int g = 0; g < most_row_groups; ++g) {
      if (g < groups && row_of(g) < p.extent(0)) of[g].load(p, row_of(g));
    }
    loads_are_above();
    u32 own = 0;
#pragma unroll
    for (int g = 0; g < most_row_groups; ++g) {
      const bool is_there = g < groups && row_of(g) < p.extent(0);
      const u32 chosen = __ballot_sync(0xffffffffu, is_there && of[g].is_chosen(p, row_of(g)));
      if (lane() == g) own = chosen;
    }
    return own;
  }

  /// Stores the constant into the chosen rows of the group that begins with `first`, as one of
  /// `sharers` warps. Two lanes have a sector of 32 bytes, which the memory writes in a fraction of
  /// the time where all of it is stored at once: what is not chosen of one is stored as it was
  /// read, within the group. A row has two vectors or more.
  static __device__ void store_rows(const P& p, const Constant& value, i64 first, u32 chosen,
                                    i32 sharer, i32 sharers) {
    const i32 columns = static_cast<i32>(p.extent(1)), step = sharers * (32 * V);
    const i32 lowest = lowest_bit(chosen);
    const i32 rows = row_count - static_cast<i32>(__clz(chosen)) - lowest;
    const i64 behind = p.extent(0) - first - lowest;  // rows of the operand
    const i32 group_end =
        behind < row_count - lowest ? static_cast<i32>(behind) : row_count - lowest;
    Out* const begin = p.template pointer<Out>(0) + (first + lowest) * columns;
    const u64 bits = u64{chosen >> lowest} << 1;  // of the row before the first one, which stays
    const i32 before = static_cast<i32>(reinterpret_cast<u64>(begin) % 32 / size);
    const i32 rows_of_step = quotient(step, columns), rest = step - rows_of_step * columns;
    const i32 from_begin = sharer * (32 * V) - before + columns + lane() * V;
    i32 row = quotient(from_begin, columns), column = from_begin - row * columns;
    for (i32 i_of_warp = sharer * (32 * V) - before; i_of_warp < rows * columns;
         i_of_warp += step) {
      const i32 i = i_of_warp + lane() * V, left = columns - column;
      const bool has_row = (bits >> row & 1) != 0, has_next = left < V && (bits >> row & 2) != 0;
      const i32 from = has_row ? 0 : left, end = has_next ? V : has_row ? left : 0;
      const u32 kept = from < end ? lanes(from, end) : 0;
      const u32 of_sector = kept | __shfl_xor_sync(0xffffffffu, kept, 1);
      const bool is_inside = i >= -lowest * columns && i + V <= group_end * columns;
      char* const at = reinterpret_cast<char*>(begin + i);
      if (kept == all) {
        value.store(at);
      } else if (of_sector != 0 && is_inside) {
        value.store_merged(kept, *reinterpret_cast<const aligned_words<16>*>(at), at);
      } else if (kept != 0) {
        value.store_part(from, end, at);
      }
      row += rows_of_step, column += rest;
      if (column >= columns) column -= columns, ++row;
    }
  }

  static __device__ void run(const P& p, const masked_rows& of) {
    const Inputs none{};
    const Constant value(convert<Out>(E{}(Context{p, none, 0, 0})));
    if (of.groups == 0) return store_vectors(p, value);
    const i64 warp = (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    const i64 share = static_cast<i64>(static_cast<u64>(warp) / static_cast<u64>(of.sharers));
    const i64 first = share * of.groups;
    const u32 of_lane = choose(p, first, of.groups);
#pragma unroll 1
    for (int g = 0; g < of.groups; ++g) {
      const u32 chosen = __shfl_sync(0xffffffffu, of_lane, g, 32);
      if (chosen == 0) continue;
      store_rows(p, value, (first + g) * row_count, chosen,
                 static_cast<i32>(warp - share * of.sharers), of.sharers);
    }
  }
  using param_type = P;
};

/// The output is dense, with elements of a power of two of at most 16 bytes, to which it is
/// aligned; axis 1, along which no input moves, has less than 2^25 elements. of.groups is 0, and
/// there are less than 2^31 - 2^20 elements; or rows have 32 bytes or more.
template <class M>
__global__ void __launch_bounds__(256)
    map_masked_rows(const __grid_constant__ typename map_masked_rows_body<M>::param_type p,
                    const __grid_constant__ masked_rows of) {
  wait_for_stream();
  map_masked_rows_body<M>::run(p, of);
}

}  // namespace quarry::kernels
