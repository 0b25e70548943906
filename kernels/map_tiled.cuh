// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/vector.cuh"

/// The kernel of maps with inputs that lie in another order than the output, such as transposes:
///   map_tiled  a block computes a tile of the elements. It reads such inputs in the order of their
///              memory, keeps the tile in shared memory, and writes in the order of the output.
namespace quarry::kernels {

/// A thread's way through tile `t`, along the D last of R axes: `Width` elements of a row, then
/// those `lanes` accesses further on, then other rows.
template <int R, int D, int Width>
class tile_steps {
 public:
  static constexpr u32 threads = 256;

  __device__ tile_steps(const tile_walk& walk, u32 t)
      : walk_(walk),
        first_((threadIdx.x & ((1u << walk.lanes_log2) - 1)) * Width),
        column_(first_),
        row_(threadIdx.x >> walk.lanes_log2) {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const tiled_axis& axis = walk.axis[R - D + d];
      const i64 left = axis.extent - begin_of(axis, t), size = axis.size.constant;
      inside_[d] = static_cast<u32>(left < size ? left : size);
    }
    find_row();
  }

  /// Moves `from`, the address of operand k's first element, to that of tile `t`.
  template <class P>
  static __device__ const char* begin(const tile_walk& walk, const P& p, int k, u32 t,
                                      const char* from) {
#pragma unroll
    for (int d = 0; d < R; ++d) from += begin_of(walk.axis[d], t) * p.stride(k, d);
    return from;
  }

  __device__ bool is_done() const { return row_ >= walk_.rows; }
  /// Whether the array has the elements: the tile may be larger.
  __device__ bool is_inside() const { return is_row_inside_ && column_ < inside_[D - 1]; }
  /// How far the row is from the tile's first element; strides of a tile fit 32 bits.
  template <class P>
  __device__ i64 row_offset(const P& p, int k) const {
    i64 offset = 0;
#pragma unroll
    for (int d = 0; d < D - 1; ++d) offset += times(in_row_[d], p.stride(k, R - D + d));
    return offset;
  }
  template <class P>
  __device__ i64 column_offset(const P& p, int k) const {
    return times(column_, p.stride(k, R - 1));
  }
  /// Their position in the order of this walk.
  __device__ u32 place() const { return row_ * walk_.axis[R - 1].size.constant + column_; }
  /// And of the row, in the order of reading.
  __device__ u32 row_place_read() const {
    u32 place = 0;
#pragma unroll
    for (int d = 0; d < D - 1; ++d) place += in_row_[d] * walk_.axis[R - D + d].pitch;
    return place;
  }
  __device__ u32 column_place_read() const { return column_ * walk_.axis[R - 1].pitch; }

  /// True when that is another row.
  __device__ bool next() {
    column_ += Width << walk_.lanes_log2;
    if (column_ < walk_.axis[R - 1].size.constant) return false;
    column_ = first_;
    row_ += threads >> walk_.lanes_log2;
    find_row();
    return true;
  }

 private:
  static __device__ i64 begin_of(const tiled_axis& axis, u32 t) {
    const u32 part = axis.every.quotient(t);
    return static_cast<i64>(part - axis.parts.quotient(part) * axis.parts.constant) *
           axis.size.constant;
  }
  static __device__ i64 times(u32 position, i64 stride) {
    return static_cast<i64>(static_cast<i32>(position)) * static_cast<i32>(stride);
  }
  __device__ void find_row() {
    u32 n = row_;
    is_row_inside_ = n < walk_.rows;
#pragma unroll
    for (int d = D - 2; d >= 0; --d) {
      const divisor size = walk_.axis[R - D + d].size;
      const u32 outer = d > 0 ? size.quotient(n) : 0;
      in_row_[d] = n - outer * size.constant;
      is_row_inside_ = is_row_inside_ && in_row_[d] < inside_[d];
      n = outer;
    }
  }

  const tile_walk& walk_;
  const u32 first_;
  u32 column_, row_;
  u32 inside_[D];  ///< elements of the tile along an axis: fewer at the end of the axis
  u32 in_row_[D];  ///< the position of the row
  bool is_row_inside_;
};

/// Exchanges pieces of 16 bytes within 128 of shared memory, so that threads which access the same
/// piece of several rows, 1 << shift bytes apart, meet different banks.
__device__ inline u32 swizzled(u32 byte, u32 shift) { return byte ^ ((byte >> shift & 7u) << 4); }

/// The inputs of V consecutive elements. Those of the set Tiled are read from shared memory, `Size`
/// elements of each one behind the other, the others as in `loaded`.
template <int V, unsigned Wide, unsigned Tiled, u32 Size, int K, class... In>
struct tile_inputs {
  __device__ void load(const char* const*, const char*, u32, u32, u32) {}
};
template <int V, unsigned Wide, unsigned Tiled, u32 Size, int K, class T, class... Rest>
struct tile_inputs<V, Wide, Tiled, Size, K, T, Rest...>
    : tile_inputs<V, Wide, Tiled, Size, K + 1, Rest...> {
  using Next = tile_inputs<V, Wide, Tiled, Size, K + 1, Rest...>;
  static constexpr bool is_tiled = K < 32 && (Tiled >> (K % 32) & 1u) != 0;
  static constexpr int read = is_tiled || (K < 32 && (Wide >> (K % 32) & 1u) != 0) ? V : 1;
  vec<T, read> r;

  __device__ void load(const char* const* at, const char* tile, u32 place, u32 pitch, u32 swizzle) {
    if constexpr (is_tiled) {
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        const u32 byte = (place + static_cast<u32>(lane) * pitch) * static_cast<u32>(sizeof(T));
        r.v[lane] = *reinterpret_cast<const T*>(tile + swizzled(byte, swizzle));
      }
      Next::load(at, tile + Size * sizeof(T), place, pitch, swizzle);
    } else {
      r = *reinterpret_cast<const vec<T, read>*>(at[K]);
      Next::load(at, tile, place, pitch, swizzle);
    }
  }
  __device__ T get(int lane) const { return kernels::load<T>(&r.v[read == 1 ? 0 : lane]); }
};
template <int K, int V, unsigned Wide, unsigned Tiled, u32 Size, class T, class... Rest>
__device__ T tile_input_at(const tile_inputs<V, Wide, Tiled, Size, K, T, Rest...>& in, int lane) {
  return in.get(lane);
}

/// The context (node.hpp) of one lane of them; positions are not known.
template <class P, class Inputs>
struct tile_context {
  const P& p;
  const Inputs& in;
  int lane;
  template <class T, int K>
  __device__ T input() const {
    return tile_input_at<K>(in, lane);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
};

template <class M, int R, int D, int W, int V, unsigned Wide, unsigned Tiled>
struct map_tiled_body;

template <class E, class Out, int S, class... In, int R, int D, int W, int V, unsigned Wide,
          unsigned Tiled>
struct map_tiled_body<map_of<E, Out, S, In...>, R, D, W, V, Wide, Tiled> {
  using Types = operands_of<Out, In...>;
  static constexpr int K = Types::count, outputs = Types::outputs;
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
  QUARRY_HD static constexpr u32 bytes() {
    u32 sum = 0;
    for (int k = outputs; k < K; ++k) sum += is_tiled(k - outputs) ? Types::size_of(k) : 0;
    return sum * most_tile_elements(widest());
  }
  static constexpr u32 size = most_tile_elements(widest());
  using Inputs = tile_inputs<V, Wide, Tiled, size, 0, In...>;

  /// Reads operand k's elements of tile t. All loads of a batch are in flight together.
  template <class T>
  static __device__ void read(const P& p, const tiling& tiles, u32 t, int k, char* tile) {
    using Steps = tile_steps<R, D, W>;
    constexpr u32 accesses = size / (Steps::threads * W), most = 8;
    constexpr u32 batch = accesses < 1 ? 1 : accesses < most ? accesses : most;
    Steps steps(tiles.read, t);
    const char* const from = Steps::begin(tiles.read, p, k, t, p.template pointer<const char>(k));
    const char* row = from + steps.row_offset(p, k);
#pragma unroll 1
    while (!steps.is_done()) {
      vec<T, W> values[batch];
      u32 place[batch];
      bool is_inside[batch];
#pragma unroll
      for (u32 i = 0; i < batch; ++i) {
        is_inside[i] = steps.is_inside();
        place[i] = steps.place();
        if (is_inside[i]) {
          values[i] = *reinterpret_cast<const vec<T, W>*>(row + steps.column_offset(p, k));
        }
        if (steps.next()) row = from + steps.row_offset(p, k);
      }
#pragma unroll
      for (u32 i = 0; i < batch; ++i) {
        if (!is_inside[i]) continue;
        const u32 byte = place[i] * static_cast<u32>(sizeof(T));
        *reinterpret_cast<vec<T, W>*>(tile + swizzled(byte, tiles.swizzle)) = values[i];
      }
    }
  }
  template <int Input>
  static __device__ void read_all(const P&, const tiling&, u32, char*, const several<>*) {}
  template <int Input, class T, class... Rest>
  static __device__ void read_all(const P& p, const tiling& tiles, u32 t, char* tile,
                                  const several<T, Rest...>*) {
    if constexpr (is_tiled(Input)) read<T>(p, tiles, t, outputs + Input, tile);
    read_all<Input + 1>(p, tiles, t, tile + (is_tiled(Input) ? size * sizeof(T) : 0),
                        static_cast<const several<Rest...>*>(nullptr));
  }

  static __device__ void write(const P& p, const tiling& tiles, u32 t, const char* tile) {
    using Steps = tile_steps<R, D, V>;
    const char* from[K] = {};
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k >= outputs && is_tiled(k - outputs)) continue;
      from[k] = Steps::begin(tiles.write, p, k, t, p.template pointer<const char>(k));
    }
    const u32 pitch = tiles.write.axis[R - 1].pitch;
    Steps steps(tiles.write, t);
    while (!steps.is_done()) {
      const char* row[K] = {};
#pragma unroll
      for (int k = 0; k < K; ++k) row[k] = from[k] + steps.row_offset(p, k);
      const u32 place = steps.row_place_read();
#pragma unroll(V > 4 ? 1 : 2)
      do {
        if (!steps.is_inside()) continue;
        char* at[K] = {};
#pragma unroll
        for (int k = 0; k < K; ++k) {
          at[k] = const_cast<char*>(row[k]) + steps.column_offset(p, k);
        }
        Inputs in;
        in.load(at + outputs, tile, place + steps.column_place_read(), pitch, tiles.swizzle);
        computed<V, E, Out> out;
#pragma unroll
        for (int lane = 0; lane < V; ++lane) out.set(lane, tile_context<P, Inputs>{p, in, lane});
        out.store(at);
      } while (!steps.next());
    }
  }

  static __device__ void run(const P& p, const tiling& tiles, int backwards) {
    alignas(128) __shared__ char tile[bytes()];
    const u32 t = backwards != 0 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    read_all<0>(p, tiles, t, tile, static_cast<const several<In...>*>(nullptr));
    __syncthreads();
    write(p, tiles, t, tile);
  }
  using param_type = P;
};

/// The tiles have D of the R axes. Inputs of the set Tiled have their strides along the axes of
/// `tiling.read` and are read by vectors of W elements; the other operands have theirs along those
/// of `tiling.write` and are accessed by vectors of V elements: see map_strided for Wide. A vector
/// lies along the last axis, of which extent, parts and alignment are multiples of it. Side
/// operands, and programs that use positions, have no tiles.
template <class M, int R, int D, int W, int V, unsigned Wide, unsigned Tiled>
__global__ void __launch_bounds__(256)
    map_tiled(const __grid_constant__
              typename map_tiled_body<M, R, D, W, V, Wide, Tiled>::param_type p,
              const __grid_constant__ tiling tiles, int backwards) {
  map_tiled_body<M, R, D, W, V, Wide, Tiled>::run(p, tiles, backwards);
}

}  // namespace quarry::kernels
