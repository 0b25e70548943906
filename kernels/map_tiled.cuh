// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/copy_async.cuh"
#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/tile.cuh"
#include "kernels/turned_tile.cuh"
#include "kernels/vector.cuh"

/// The kernel of maps with inputs that lie in another order than the output, such as transposes:
///   map_tiled  a block computes a tile of the elements. It reads such inputs in the order of their
///              memory, keeps the tile in shared memory, and writes in the order of the output.
namespace quarry::kernels {

/// Whether elements of the first input are stored as they are.
template <class E, class Out>
inline constexpr bool is_copy = false;
template <class T>
inline constexpr bool is_copy<in<T, 0>, T> = !is_bool<T>;

template <class M, int R, int Dr, int Dw, int V, unsigned Wide, unsigned Tiled, int Rows>
struct map_tiled_body;

template <class E, class Out, int S, class... In, int R, int Dr, int Dw, int V, unsigned Wide,
          unsigned Tiled, int Rows>
struct map_tiled_body<map_of<E, Out, S, In...>, R, Dr, Dw, V, Wide, Tiled, Rows> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = Types::count, outputs = Types::outputs;
  static constexpr bool writes_shifted = (Rows & 2) != 0, is_listed = (Rows & 4) != 0,
                        are_alike = (Rows & 32) != 0, is_turned = (Rows & 64) != 0;
  /// Elements of less than a word are read by so many bytes at once.
  static constexpr i32 word = (Rows & 9) == 9 ? 8 : (Rows & 8) != 0 ? 16 : (Rows & 1) != 0 ? 4 : 1;
  /// Bytes that stay together where tiles are swizzled, else 0: no access to them is wider.
  QUARRY_HD static constexpr u32 unit() {
    const u32 least = widest() > 4 ? widest() : 4;
    return is_turned                        ? turned_unit
           : (Rows & 16) == 0               ? 0
           : word > static_cast<i32>(least) ? u32{word}
                                            : least;
  }
  using P = params<K, S, R>;

  QUARRY_HD static constexpr bool is_tiled(int input) {
    return input < 32 && (Tiled >> (input % 32) & 1u) != 0;
  }
  QUARRY_HD static constexpr u32 widest() {
    u32 size = 1;
    for (int k = 0; k < K; ++k) {
      if (k >= outputs && !is_tiled(k - outputs)) continue;
      if (Types::size_of(k) > size) size = Types::size_of(k);
    }
    return size;
  }
  QUARRY_HD static constexpr u32 space() {
    u32 inputs = 0;
    for (int k = outputs; k < K; ++k) inputs += is_tiled(k - outputs) ? 1 : 0;
    return tile_space(widest(), inputs);
  }
  QUARRY_HD static constexpr u32 bytes() {
    if (is_turned) return turned_bytes;
    u32 sum = 0;
    for (int k = outputs; k < K; ++k) sum += is_tiled(k - outputs) ? Types::size_of(k) : 0;
    return (sum * space() + 16 + 127) / 128 * 128;  // tiles of words begin less than one later
  }
  using Turned = turned_rows<is_turned ? Types::size_of(outputs) : 1>;
  static_assert(!is_turned || (K == outputs + 1 && Tiled == 1), "one input is read by tiles");
  using Inputs = tile_inputs<V, Wide, Tiled, space(), unit(), 0, In...>;
  using InputTiles = input_tiles<sizeof...(In)>;

  /// A tile: how far its first elements are from those of the operands, and what of it the array
  /// has.
  struct Tile {
    i64 begin[K];
    tile_range<Dr> read;
    tile_range<Dw> write;

    __device__ void find(const P& p, const tiling& tiles, u32 t) {
      const int k = static_cast<int>(threadIdx.x);
      if (k < K) {
        const tile_walk& walk = k >= outputs && is_tiled(k - outputs) ? tiles.read : tiles.write;
        i64 offset = 0;
        for (int d = 0; d < R; ++d) offset += tile_begin(walk.axis[d], t) * p.stride(k, d);
        begin[k] = offset;
      }
      if (k == 32) read.template find<R>(tiles.read, t);
      if (k == 64) write.template find<R>(tiles.write, t);
    }
    __device__ char* first(const P& p, int k) const {
      return p.template pointer<char>(k) + begin[k];
    }
  };

  /// Whether elements of T are read by whole words. A word of shared memory then has the bytes of
  /// one of global memory, and neighbours of the row may be among them.
  template <class T>
  static constexpr bool has_words = word > 1 && sizeof(T) < 4;

  /// Reads operand k's elements of tile t to byte `begin` of shared memory, or less than a word
  /// behind, which is returned; they are there after copies_done and a barrier.
  template <class T>
  static __device__ u32 read(const P& p, const tiling& tiles, const Tile& t, int k, char* memory,
                             u32 begin) {
    constexpr i32 size = sizeof(T);
    tile_rows<R, Dr, 1, false> rows(p, tiles.read, threadIdx.x >> tiles.read.lanes_log2, t.read,
                                    [=](int) { return k; });
    const char* first = t.first(p, k);
    if constexpr (has_words<T>) begin += static_cast<u32>(reinterpret_cast<u64>(first) % word);
    const i32 lane = rows.first_column(1), lanes = rows.column_step(1);
    const i32 column = lane + rows.columns_begin(), end = rows.columns_end();
    const i32 stride = p.short_stride(k, R - 1);
    const i64 apart = distance(lanes, stride);
    if constexpr (!has_words<T>) first += distance(column, stride);
#pragma unroll 1
    for (; rows.is_left(); rows.next()) {
      if (!rows.is_inside()) continue;
      const char* from = first + rows.offset(0);
      i32 to = static_cast<i32>(begin) + rows.place() * size;
      if constexpr (has_words<T>) {
        using Word = vec<u32, word / 4>;
        const i32 before = static_cast<i32>(reinterpret_cast<u64>(from) % word);
        const i32 bytes = before + end * size;
        const i32 skipped = (before + rows.columns_begin() * size) / word * word;
        from += word * lane + skipped - before;
        to += word * lane + skipped - before;
#pragma unroll(word == 16 ? 1 : 4)
        for (i32 byte = word * lane + skipped; byte < bytes; byte += word * lanes) {
          copy_async<Word>(memory + swizzled<unit()>(static_cast<u32>(to)), from);
          from += word * lanes;
          to += word * lanes;
        }
      } else {
        to += column * size;
#pragma unroll 4
        for (i32 at = column; at < end; at += lanes) {
          copy_async<T>(memory + swizzled<unit()>(static_cast<u32>(to)), from);
          from += apart;
          to += lanes * size;
        }
      }
    }
    return begin;
  }
  /// How far from the tile's first element of the input each element of a row is. Those that the
  /// array does not have are where others are.
  static __device__ void list_runs(const tiling& tiles, u32 t, i64* list) {
    const tiled_axis& row = tiles.write.axis[R - 1];
    const i64 begin = tile_begin(row, t), left = row.extent - begin;
    const u32 size = row.size.constant, end = left < size ? static_cast<u32>(left) : size;
    const u32 first = begin < 0 ? row.before : 0;
    for (u32 i = threadIdx.x; i < tiles.turned.groups * turned_runs; i += tile_threads) {
      u32 n = i < first ? first : i < end ? i : end - 1;
      i64 offset = 0;
      for (u32 axis = 0; axis < tiles.row_axes; ++axis) {
        const divisor extent = tiles.row[axis].size;
        const u32 outer = extent.quotient(n);
        offset += (n - outer * extent.constant) * tiles.row[axis].stride;
        n = outer;
      }
      list[i] = offset;
    }
  }
  /// Reads the tile of the input, the rows of which are whole then.
  static __device__ void read_turned(const P& p, const tiling& tiles, const Tile& t,
                                     const i64* runs_at, char* memory) {
    const i32 rows = static_cast<i32>(tiles.write.rows), inside = t.read.inside[Dr - 1];
    const i32 run = inside < rows ? inside : rows;
    Turned::read(t.first(p, outputs), runs_at, tiles.turned, run * static_cast<i32>(Turned::size),
                 reinterpret_cast<u32*>(memory));
  }

  template <int Input>
  static __device__ void read_all(const P&, const tiling&, const Tile&, u32, InputTiles&,
                                  const several<>*) {}
  template <int Input, class T, class... Rest>
  static __device__ void read_all(const P& p, const tiling& tiles, const Tile& t, u32 begin,
                                  InputTiles& to, const several<T, Rest...>*) {
    if constexpr (is_tiled(Input)) {
      to.begin[Input] = read<T>(p, tiles, t, outputs + Input, to.memory, begin);
      begin += space() * static_cast<u32>(sizeof(T));
    }
    read_all<Input + 1>(p, tiles, t, begin, to, static_cast<const several<Rest...>*>(nullptr));
  }

  /// Computes V elements, or those of them that the array has.
  template <class Places, class Lanes>
  static __device__ void compute(const P& p, char* const* at, const InputTiles& read,
                                 const Places& places, const Lanes& lanes) {
    Inputs in;
    in.template load<Lanes>(at + outputs, read, places);
    if constexpr (is_turned && is_copy<E, Out>) {
      copied<Out, V> out{in.r};
      lanes.store(out, at);
    } else {
      computed<V, E, Out> out;
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        if (calls_user_functions<E> && !lanes.has(lane)) continue;
        out.set(lane, tile_context<P, Inputs>{p, in, lane});
      }
      lanes.store(out, at);
    }
  }

  /// The places of the elements of a row, from its first one.
  static __device__ void list_places(const tiling& tiles, place_table<V>& list) {
    const u32 size = tiles.write.axis[R - 1].size.constant;
    for (u32 i = threadIdx.x; i < size + 2 * V; i += tile_threads) {
      u32 n = i < V || i >= size + V ? 0 : i - V, place = 0;
      for (u32 axis = 0; axis < tiles.row_axes; ++axis) {
        const divisor extent = tiles.row[axis].size;
        const u32 outer = extent.quotient(n);
        place += (n - outer * extent.constant) * tiles.row[axis].pitch;
        n = outer;
      }
      list.set(i, place);
    }
  }

  /// The operands that are not read by tiles; the outputs come first.
  struct operands_along {
    int of[K] = {}, count = 0;
  };
  QUARRY_HD static constexpr operands_along along_writing() {
    operands_along others;
    for (int k = 0; k < K; ++k) {
      if (k < outputs || !is_tiled(k - outputs)) others.of[others.count++] = k;
    }
    return others;
  }

  /// Has the L2 cache read the rows of inputs that are not read by tiles, while those are.
  static __device__ void prefetch_others(const P& p, const tiling& tiles, const Tile& t) {
    constexpr operands_along others = along_writing();
    constexpr int inputs = others.count - outputs;
    if constexpr (inputs > 0) {
      const auto input = [=](int n) { return others.of[outputs + n]; };
#pragma unroll 1
      for (u32 i = threadIdx.x; i < tiles.write.rows; i += tile_threads) {
        const tile_rows<R, Dw, inputs, true> row(p, tiles.write, i, t.write, input);
        if (!row.is_inside()) continue;
#pragma unroll
        for (int n = 0; n < inputs; ++n) {
          const char* const first = t.first(p, input(n)) + row.offset(n);
          const i32 stride = p.short_stride(input(n), R - 1);
          prefetch_row(first + distance(row.columns_begin(), stride),
                       first + distance(row.columns_end(), stride));
        }
      }
    }
  }

  static __device__ void write(const P& p, const tiling& tiles, const Tile& t,
                               const InputTiles& read, const place_table<V>* list) {
    constexpr operands_along others = along_writing();
    constexpr int walked = are_alike ? 1 : others.count;
    tile_rows<R, Dw, walked, true> rows(p, tiles.write, threadIdx.x >> tiles.write.lanes_log2,
                                        t.write, [=](int n) { return others.of[n]; });
    const i32 pitch = opaque(static_cast<i32>(tiles.write.axis[R - 1].pitch)),
              step = rows.column_step(V);
    char* first[others.count];
    i64 apart[walked];
#pragma unroll
    for (int n = 0; n < others.count; ++n) first[n] = t.first(p, others.of[n]);
#pragma unroll
    for (int n = 0; n < walked; ++n) {
      apart[n] = distance(step, p.short_stride(others.of[n], R - 1));
    }
#pragma unroll 1
    for (; rows.is_left(); rows.next()) {
      if (!rows.is_inside()) continue;
      i32 column = rows.first_column(V) + rows.columns_before(), end = rows.columns_end();
      if constexpr (writes_shifted) {
        // From a sector of the output to another one. Parts of sectors are left to the tile that
        // has the rest of them, or else written by elements.
        constexpr u32 size = Types::size_of(0);
        const u64 row = reinterpret_cast<u64>(first[0] + rows.offset(0));
        const auto in_sector = [=](i32 from) {
          return static_cast<i32>((static_cast<u32>(row) + size * from) % tile_sector / size);
        };
        column -= in_sector(rows.columns_before());
        if (rows.columns_before() > 0 && rows.has_next()) end -= in_sector(end);
      }
      char* at[K] = {};
#pragma unroll
      for (int n = 0; n < others.count; ++n) {
        const int k = others.of[n], like = are_alike ? 0 : n;
        const i32 stride = p.short_stride(others.of[like], R - 1);
        at[k] = first[n] + (rows.offset(like) + distance(column, stride));
      }
      const i32 place = place_of_row(tiles, rows.place());
#pragma unroll(V > 4 ? 1 : 2)
      for (; column < end; column += step) {
        if constexpr (writes_shifted) {
          const i32 begin = rows.columns_begin() - column, left = rows.columns_end() - column;
          if (all_of_warp(begin <= 0 && left >= V)) {
            compute(p, at, read, places(place, column, pitch, list), all_lanes{});
          } else if (begin < V) {
            const auto from = places(place, opaque(column), pitch, list);
            compute(p, at, read, from, some_lanes{begin, left});
          }
        } else {
          compute(p, at, read, places(place, column, pitch, list), all_lanes{});
        }
#pragma unroll
        for (int n = 0; n < others.count; ++n) at[others.of[n]] += apart[are_alike ? 0 : n];
      }
    }
  }

  /// Of a tile that is turned, the byte at which the row begins.
  static __device__ i32 place_of_row(const tiling& tiles, i32 place) {
    if constexpr (is_turned) {
      return opaque(
          static_cast<i32>(4 * Turned::first_word(tiles.turned, static_cast<u32>(place))));
    } else {
      return place;
    }
  }
  static __device__ auto places(i32 row, i32 column, i32 pitch, const place_table<V>* list) {
    if constexpr (is_turned) {
      return turned_places{static_cast<u32>(row + column * static_cast<i32>(Turned::size))};
    } else if constexpr (is_listed) {
      return listed_places{row, list->from(column)};
    } else {
      return regular_places{row + column * pitch, pitch};
    }
  }

  static __device__ void run(const P& p, const tiling& tiles, int order) {
    alignas(128) __shared__ char tile[bytes()];
    __shared__ Tile t;
    const bool is_backwards = (order & blocks_backwards) != 0;
    const u32 number = is_backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    t.find(p, tiles, number);
    const place_table<V>* places = nullptr;
    InputTiles read{tile, {}};
    if constexpr (is_turned) {
      __shared__ i64 runs_at[most_turned_runs];
      list_runs(tiles, number, runs_at);
      __syncthreads();
      read_turned(p, tiles, t, runs_at, tile);
    } else {
      if constexpr (is_listed) {
        __shared__ place_table<V> list;
        list_places(tiles, list);
        places = &list;
      }
      __syncthreads();
      read_all<0>(p, tiles, t, 0, read, static_cast<const several<In...>*>(nullptr));
      prefetch_others(p, tiles, t);
      copies_done();
    }
    __syncthreads();
    wait_for_work_ahead();
    write(p, tiles, t, read, places);
  }
  using param_type = P;
};

/// The tiles have the Dr last of the R axes in which they are read, and the Dw last of those in
/// which they are written. Inputs of the set Tiled have their strides along the axes of
/// `tiling.read`; the other operands have theirs along those of `tiling.write` and are accessed by
/// vectors of V elements: see map_strided for Wide. A vector lies along the last axis.
/// Of Rows, bit 0: inputs of less than 4 bytes, which are dense along rows, are read by words, bit
/// 3: by 16 bytes; pitches of the tile are congruent with their strides. Bit 1: rows that are
/// written begin at any element, all operands as far from a vector; without it extent, parts and
/// alignment of the last axis are multiples of one. Bit 2: these rows consist of several axes. Bit
/// 4: tiles are swizzled. Bit 5: along the axes of tiles what is not read by tiles has the strides
/// of the first output. Bit 6: the only input, of one or two bytes, is turned (turned_tile.cuh);
/// vectors have 8 or 16 bytes of it. Side operands, and programs that use positions, have no tiles.
template <class M, int R, int Dr, int Dw, int V, unsigned Wide, unsigned Tiled, int Rows>
__global__ void __launch_bounds__(256)
    map_tiled(const __grid_constant__
              typename map_tiled_body<M, R, Dr, Dw, V, Wide, Tiled, Rows>::param_type p,
              const __grid_constant__ tiling tiles, int order) {
  wait_for_stream(order);
  map_tiled_body<M, R, Dr, Dw, V, Wide, Tiled, Rows>::run(p, tiles, order);
}

}  // namespace quarry::kernels
