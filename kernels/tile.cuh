// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/unaligned.cuh"
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

/// i * stride, of 32 bits each: the compiler would widen `stride` ahead of a loop, and multiply by
/// three instructions in it.
__device__ inline i64 distance(i32 i, i32 stride) {
#ifdef __CUDA_ARCH__
  i64 product;
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(product) : "r"(i), "r"(stride));
  return product;
#else
  return i64{i} * stride;
#endif
}

/// The same number, unknown to the compiler, which then keeps it in a register for all of a loop.
__device__ inline i32 opaque(i32 number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

/// Where byte `place` of the tiles is in shared memory: in the same line of 128 bytes, which is one
/// word of every bank, with the number of its unit in the line XORed with the number of the line.
/// Places that are a power of two apart are in different banks then. Units have `Unit` bytes; with
/// Unit 0 nothing moves.
template <u32 Unit>
__device__ u32 swizzled(u32 place) {
  constexpr u32 line = 128, units = Unit > 0 ? line / Unit : 1;
  return Unit > 0 ? place ^ (place / line % units * Unit) : place;
}

/// The rows of a tile along the D last of R axes that a thread accesses, one after another: where
/// they are in the tile, and in the memory of N operands; and its columns of them. HasParts if a
/// part of the last axis may have several rows.
template <int R, int D, int N, bool HasParts>
class tile_rows {
 public:
  /// From row `first` on. `operand(n)` says which one the n-th is; strides of a tile fit 32 bits.
  template <class P, class Operand>
  __device__ tile_rows(const P& p, const tile_walk& walk, u32 first, const tile_range<D>& range,
                       const Operand& operand)
      : walk_(walk), lanes_(opaque(1 << walk.lanes_log2)) {
    split(first, in_row_);
#pragma unroll
    for (int d = 0; d < D; ++d) outside_[d] = range.outside[d], inside_[d] = range.inside[d];
    has_next_ = range.has_next;
    if (HasParts && D > 1) row_step_ = opaque(static_cast<i32>(walk.row_step));
#pragma unroll
    for (int d = 0; d < D - 1; ++d) {
      place_ += in_row_[d] * pitch(d);
    }
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const auto stride = [&](int d) { return p.short_stride(operand(n), R - D + d); };
#pragma unroll
      for (int d = 0; d < D - 1; ++d) {
        offset_[n] += distance(in_row_[d], stride(d));
        offset_step_[n][0] += distance(step(d), stride(d));
        if (d > 0) offset_step_[n][d] = stride(d - 1) - distance(size(d), stride(d));
      }
    }
  }

  __device__ bool is_left() const { return in_row_[0] < size(0); }
  __device__ void next() {
    move(0);
#pragma unroll
    for (int d = axes - 1; d >= 0; --d) {
      in_row_[d] += step(d);
      if (d == 0 || in_row_[d] < size(d)) continue;
      in_row_[d] -= size(d);
      in_row_[d > 0 ? d - 1 : 0] += 1;
      move(d);
    }
  }
  /// False if the array does not have the row.
  __device__ bool is_inside() const {
    bool is_inside = true;
#pragma unroll
    for (int d = 0; d < D - 1; ++d) {
      is_inside = is_inside && in_row_[d] >= outside_[d] && in_row_[d] < inside_[d];
    }
    return is_inside;
  }
  /// How far it is from the tile's first element: of the n-th operand, and in the tile.
  __device__ i64 offset(int n) const { return offset_[n]; }
  __device__ i32 place() const { return place_; }

  /// The first column of the thread, which accesses `width` of them at once.
  __device__ i32 first_column(int width) const {
    return static_cast<i32>(threadIdx.x & (lanes_ - 1)) * width;
  }
  __device__ i32 column_step(int width) const { return lanes_ * width; }
  /// The first that the array has, and the one behind the last: the tile may be larger.
  __device__ i32 columns_begin() const { return outside_[D - 1]; }
  __device__ i32 columns_end() const {
    const i32 size = static_cast<i32>(walk_.axis[R - 1].size.constant);
    i32 end = inside_[D - 1];
    if constexpr (HasParts && D > 1) end -= in_row_[D - 2] * row_step_;
    return end < size ? end : size;
  }
  /// Those that the tile before this one has too, and whether there is a tile behind this one.
  __device__ i32 columns_before() const { return static_cast<i32>(walk_.axis[R - 1].before); }
  __device__ bool has_next() const { return has_next_; }

 private:
  static constexpr int axes = D > 1 ? D - 1 : 1;

  __device__ i32 size(int d) const {
    return static_cast<i32>(D > 1 ? walk_.axis[R - D + d].size.constant : walk_.rows);
  }
  __device__ i32 step(int d) const { return static_cast<i32>(walk_.axis[R - D + d].next); }
  __device__ i32 pitch(int d) const { return static_cast<i32>(walk_.axis[R - D + d].pitch); }
  __device__ void split(u32 row, i32 (&digits)[axes]) const {
#pragma unroll
    for (int d = axes - 1; d > 0; --d) {
      const divisor size = walk_.axis[R - D + d].size;
      const u32 outer = size.quotient(row);
      digits[d] = static_cast<i32>(row - outer * size.constant);
      row = outer;
    }
    digits[0] = static_cast<i32>(row);
  }
  __device__ void move(int d) {
    place_ += walk_.axis[R - D + d].next_place;
#pragma unroll
    for (int n = 0; n < N; ++n) offset_[n] += offset_step_[n][d];
  }

  const tile_walk& walk_;
  i32 lanes_, row_step_ = 0;
  i32 in_row_[axes];  ///< the position of the row
  i32 place_ = 0;
  /// Steps 0 lead to the next row, the others from the end of an axis to where the one before it
  /// goes on.
  i64 offset_[N] = {}, offset_step_[N][axes] = {};
  i32 outside_[D], inside_[D];
  bool has_next_;
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
  static constexpr bool are_inside = false;  ///< those of lanes that are not there, too
  i32 first, pitch;
  __device__ u32 operator()(int lane) const { return static_cast<u32>(first + lane * pitch); }
};
struct listed_places {
  static constexpr bool are_inside = true;
  i32 first;
  const u16* list;
  __device__ u32 operator()(int lane) const { return static_cast<u32>(first + list[lane]); }
};
/// In a tile that is turned: side by side from a byte on.
struct turned_places {
  u32 first;
};
/// The table: places of the elements of a row, and of V elements before and behind it, which are
/// that of the first one. Threads side by side read V of them each, so groups of 64 are so far
/// apart that those of a warp are in different banks; a group has the first ones of the next group,
/// too.
template <int V>
struct place_table {
  static constexpr u32 group = 64, pitch = group + (V > 8 ? 18 : 10);
  u16 at[(most_row_elements + 2 * V + group - 1) / group * pitch];

  __device__ static u32 index(u32 i) { return i + i / group * (pitch - group); }
  /// Places are numbered from that of V elements before the row.
  __device__ void set(u32 i, u32 place) {
    at[index(i)] = static_cast<u16>(place);
    if (i >= group && i % group < V) at[index(i) - (pitch - group)] = static_cast<u16>(place);
  }
  /// Of the element at `column` and of the V - 1 behind it.
  __device__ const u16* from(i32 column) const { return at + index(static_cast<u32>(column + V)); }
};

/// Whether it is true for all threads of the warp that are here: they do not part then.
__device__ inline bool all_of_warp(bool is_true) {
#ifdef __CUDA_ARCH__
  return __all_sync(__activemask(), is_true) != 0;
#else
  return is_true;
#endif
}

/// The tiles of N inputs in shared memory, and where each begins there.
template <int N>
struct input_tiles {
  char* memory;
  u32 begin[N];
};

/// The inputs of V consecutive elements. Those of the set Tiled are read from shared memory, where
/// there are `Size` elements of each, in units of `Unit` bytes (turned_unit: by words, where they
/// are side by side), the others as in `loaded`.
inline constexpr u32 turned_unit = ~u32{0};
template <int V, unsigned Wide, unsigned Tiled, u32 Size, u32 Unit, int K, class... In>
struct tile_inputs {
  template <class Lanes, class Tiles, class Places>
  __device__ void load(const char* const*, const Tiles&, const Places&) {}
};
template <int V, unsigned Wide, unsigned Tiled, u32 Size, u32 Unit, int K, class T, class... Rest>
struct tile_inputs<V, Wide, Tiled, Size, Unit, K, T, Rest...>
    : tile_inputs<V, Wide, Tiled, Size, Unit, K + 1, Rest...> {
  using Next = tile_inputs<V, Wide, Tiled, Size, Unit, K + 1, Rest...>;
  static constexpr bool is_tiled = K < 32 && (Tiled >> (K % 32) & 1u) != 0;
  static constexpr int read = is_tiled || (K < 32 && (Wide >> (K % 32) & 1u) != 0) ? V : 1;
  static constexpr bool is_turned = is_tiled && Unit == turned_unit;
  packed<T, read, is_turned> r;

  /// A vector of which the array has some lanes has a word of it, and may be read as a whole.
  template <class Lanes, class Tiles, class Places>
  __device__ void load(const char* const* at, const Tiles& tiles, const Places& places) {
    if constexpr (is_turned) {
      constexpr u32 bytes = sizeof(T) * V;
      using Words = aligned_words<bytes>;
      const auto* const words =
          reinterpret_cast<const Words*>(tiles.memory + places.first / bytes * bytes);
      r = shifted<T, V>(words[0], words[1], places.first % bytes);
    } else if constexpr (is_tiled) {
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        u32 from = places(lane);
        if (!Lanes::are_all && !Places::are_inside && from >= Size) from = 0;  // of no element
        const u32 place = swizzled<Unit>(tiles.begin[K] + from * static_cast<u32>(sizeof(T)));
        set(lane, *reinterpret_cast<const vec<T, 1>*>(tiles.memory + place));
      }
    } else if constexpr (!Lanes::are_all && sizeof(r) >= 4) {
      const auto words = *reinterpret_cast<const aligned_words<sizeof(r)>*>(at[K]);
      memcpy(static_cast<void*>(&r), &words, sizeof(r));
    } else {
      r.v = *reinterpret_cast<const vec<T, read>*>(at[K]);
    }
    Next::template load<Lanes>(at, tiles, places);
  }
  __device__ T get(int lane) const { return r.get(read == 1 ? 0 : lane); }
  /// An element as its bytes: those of a bool may be any.
  __device__ void set(int lane, const vec<T, 1>& element) {
    *reinterpret_cast<vec<T, 1>*>(&r.v.v[lane]) = element;
  }
};
template <int K, int V, unsigned Wide, unsigned Tiled, u32 Size, u32 Unit, class T, class... Rest>
__device__ T tile_input_at(const tile_inputs<V, Wide, Tiled, Size, Unit, K, T, Rest...>& in,
                           int lane) {
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

/// Has the L2 cache read what is from one address to another one, or most of it.
__device__ inline void prefetch_row([[maybe_unused]] const char* from,
                                    [[maybe_unused]] const char* to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const u64 begin = (reinterpret_cast<u64>(from) + 15) / 16 * 16,
            end = reinterpret_cast<u64>(to) / 16 * 16;
  if (begin >= end) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin),
               "r"(static_cast<u32>(end - begin)));
#endif
}

}  // namespace quarry::kernels
