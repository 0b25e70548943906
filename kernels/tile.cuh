// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/vector.cuh"

/// Tiles of map_tiled (map_tiled.cuh): which elements they have, and what a thread takes from them.
namespace quarry::kernels {

inline constexpr u32 tile_threads = 256;

/// The first element of a tile along an axis; negative before the axis.
__device__ inline i64 tile_begin(const tiled_axis& axis, u32 t) {
  const u32 part = axis.every.quotient(t);
  return static_cast<i64>(part - axis.parts.quotient(part) * axis.parts.constant) * axis.step -
         axis.before;
}

/// What of a tile the array has, along the D last axes: from `outside` to before `inside`.
template <int D>
struct tile_range {
  i32 outside[D], inside[D];
  bool has_next;  ///< another tile behind this one along the last axis

  template <int R>
  __device__ void find(const tile_walk& walk, u32 t) {
    for (int d = 0; d < D; ++d) {
      const tiled_axis& axis = walk.axis[R - D + d];
      const i64 begin = tile_begin(axis, t), left = axis.extent - begin;
      const i64 size = axis.step + axis.before;
      inside[d] = static_cast<i32>(left < size ? left : size);
      outside[d] = begin < 0 ? static_cast<i32>(axis.before) : 0;
      has_next = left > size;
    }
  }
};

/// The rows of a tile along the D last of R axes, and which of them a thread accesses: `first()`
/// and every `step()`-th from there.
template <int R, int D>
class tile_rows {
 public:
  __device__ tile_rows(const tile_walk& walk, const tile_range<D>& range)
      : walk_(walk), range_(range) {}

  __device__ u32 count() const { return walk_.rows; }
  __device__ u32 first() const { return threadIdx.x >> walk_.lanes_log2; }
  __device__ u32 step() const { return tile_threads >> walk_.lanes_log2; }
  /// The same for the columns of a row, `width` of them at once.
  __device__ i32 first_column(int width) const {
    return static_cast<i32>(threadIdx.x & ((1u << walk_.lanes_log2) - 1)) * width;
  }
  __device__ i32 column_step(int width) const { return width << walk_.lanes_log2; }
  /// The first that the array has, and the one behind the last: the tile may be larger.
  __device__ i32 columns_begin() const { return range_.outside[D - 1]; }
  __device__ i32 columns_end() const {
    const i32 size = static_cast<i32>(walk_.axis[R - 1].size.constant);
    i32 end = range_.inside[D - 1];
    if constexpr (D > 1) end -= in_row_[D - 2] * static_cast<i32>(walk_.row_step);
    return end < size ? end : size;
  }
  /// Those that the tile before this one has too, and whether there is a tile behind this one.
  __device__ i32 columns_before() const { return static_cast<i32>(walk_.axis[R - 1].before); }
  __device__ bool has_next() const { return range_.has_next; }

  /// False if the array does not have the row.
  __device__ bool find(u32 row) {
    bool is_inside = row < walk_.rows;
#pragma unroll
    for (int d = D - 2; d >= 0; --d) {
      const divisor size = walk_.axis[R - D + d].size;
      const u32 outer = d > 0 ? size.quotient(row) : 0;
      in_row_[d] = static_cast<i32>(row - outer * size.constant);
      is_inside = is_inside && in_row_[d] >= range_.outside[d] && in_row_[d] < range_.inside[d];
      row = outer;
    }
    return is_inside;
  }
  /// How far the row is from the tile's first element; strides of a tile fit 32 bits.
  template <class P>
  __device__ i64 offset(const P& p, int k) const {
    i64 offset = 0;
#pragma unroll
    for (int d = 0; d < D - 1; ++d) {
      offset += i64{in_row_[d]} * p.short_stride(k, R - D + d);
    }
    return offset;
  }
  /// Its place in the tile.
  __device__ i32 place() const {
    i32 place = 0;
#pragma unroll
    for (int d = 0; d < D - 1; ++d) {
      place += in_row_[d] * static_cast<i32>(walk_.axis[R - D + d].pitch);
    }
    return place;
  }

 private:
  const tile_walk& walk_;
  const tile_range<D>& range_;
  i32 in_row_[D] = {};  ///< the position of the row
};

/// Which of the lanes of a vector the array has: all, or those from `begin` to before `end`.
struct all_lanes {
  static constexpr bool are_all = true;
  __device__ bool has(int /*lane*/) const { return true; }
  template <class Computed>
  __device__ void store(Computed& out, char* const* at) const {
    fetch(out, at);
    out.store(at);
  }
};
struct some_lanes {
  static constexpr bool are_all = false;
  i32 begin, end;
  __device__ bool has(int lane) const { return lane >= begin && lane < end; }
  template <class Computed>
  __device__ void store(Computed& out, char* const* at) const {
    if (begin <= 0 && end >= Computed::width) {
      fetch(out, at);
      out.store(at);
    } else {
      out.store_part(begin, end, at);
    }
  }
};

/// Where the lanes of a vector are in a tile: `pitch` elements apart, or as a table says.
struct regular_places {
  i32 first, pitch;
  __device__ u32 operator()(int lane) const { return static_cast<u32>(first + lane * pitch); }
};
struct listed_places {
  i32 first;
  const u16* list;
  __device__ u32 operator()(int lane) const { return static_cast<u32>(first + list[lane]); }
};

/// Whether it is true for all threads of the warp that are here: they do not part then.
__device__ inline bool all_of_warp(bool is_true) {
#ifdef __CUDA_ARCH__
  return __all_sync(__activemask(), is_true) != 0;
#else
  return is_true;
#endif
}

/// The same number, unknown to the compiler: it does not prepare in every iteration of a loop what
/// few iterations need.
__device__ inline i32 opaque(i32 number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

/// The inputs of V consecutive elements. Those of the set Tiled are read from shared memory, where
/// there are `Size` elements of each, the others as in `loaded`.
template <int V, unsigned Wide, unsigned Tiled, u32 Size, int K, class... In>
struct tile_inputs {
  template <class Lanes, class Places>
  __device__ void load(const char* const*, const char* const*, const Places&) {}
};
template <int V, unsigned Wide, unsigned Tiled, u32 Size, int K, class T, class... Rest>
struct tile_inputs<V, Wide, Tiled, Size, K, T, Rest...>
    : tile_inputs<V, Wide, Tiled, Size, K + 1, Rest...> {
  using Next = tile_inputs<V, Wide, Tiled, Size, K + 1, Rest...>;
  static constexpr bool is_tiled = K < 32 && (Tiled >> (K % 32) & 1u) != 0;
  static constexpr int read = is_tiled || (K < 32 && (Wide >> (K % 32) & 1u) != 0) ? V : 1;
  vec<T, read> r;

  /// A vector of which the array has some lanes has a word of it, and may be read as a whole.
  template <class Lanes, class Places>
  __device__ void load(const char* const* at, const char* const* tiles, const Places& places) {
    if constexpr (is_tiled) {
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        u32 from = places(lane);
        if (!Lanes::are_all && from >= Size) from = 0;  // of a lane that is not there
        set(lane, reinterpret_cast<const vec<T, 1>*>(tiles[K])[from]);
      }
    } else if constexpr (!Lanes::are_all && sizeof(r) >= 4) {
      const auto words = *reinterpret_cast<const aligned_words<sizeof(r)>*>(at[K]);
      memcpy(static_cast<void*>(&r), &words, sizeof(r));
    } else {
      r = *reinterpret_cast<const vec<T, read>*>(at[K]);
    }
    Next::template load<Lanes>(at, tiles, places);
  }
  __device__ T get(int lane) const { return kernels::load<T>(&r.v[read == 1 ? 0 : lane]); }
  /// An element as its bytes: those of a bool may be any.
  __device__ void set(int lane, const vec<T, 1>& element) {
    *reinterpret_cast<vec<T, 1>*>(&r.v[lane]) = element;
  }
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

/// Copies an element, or a word, to shared memory; it is there after copies_done and a barrier.
/// GPUs before compute capability 8.0 have no such copies.
template <class T>
__device__ void copy_async(char* to, const char* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (sizeof(T) >= 4 && alignof(T) == sizeof(T)) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                     static_cast<u32>(__cvta_generic_to_shared(to))),
                 "l"(from), "n"(sizeof(T)));
    return;
  }
#endif
  *reinterpret_cast<vec<T, 1>*>(to) = *reinterpret_cast<const vec<T, 1>*>(from);
}
__device__ inline void copies_done() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace quarry::kernels
