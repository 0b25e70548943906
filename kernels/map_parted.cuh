// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/map.cuh"
#include "kernels/single_access.cuh"
#include "kernels/total.cuh"

/// Maps along one axis that read or write single elements of a side operand in no order, by radix
/// partitioning. The operand is cut into parts that the L2 cache has. Tiles of the map sort their
/// places by part; then the elements are accessed part by part; what has been read is brought back
/// into the order of the map. Every step reads and writes whole lines, where each access in no
/// order takes a line of memory for itself.
namespace quarry::kernels {

template <class M, int V, unsigned Wide>
struct map_parted_body;

template <class E, class Out, int S, class... In, int V, unsigned Wide>
struct map_parted_body<map_of<E, Out, S, In...>, V, Wide> {
  using Types = operands_of<Out, In...>;
  using P = params<Types::count, S, 1>;
  using Inputs = loaded<V, Wide, 0, In...>;
  using Access = parted_access<E, Out>;
  using T = typename Access::type;
  using Element = vec<T, 1>;
  static constexpr bool reads = Access::kind == single_access::read,
                        writes = Access::kind == single_access::replace;
  static constexpr int tile = parted_tile(sizeof(T), Access::kind);
  static constexpr int threads = parted_threads;
  static constexpr int each = tile / threads, vectors = each / V, warps = threads / 32;
  static_assert(each % V == 0);
  static constexpr u32 every_lane = 0xffffffffu, none = ~u32{0};

  struct shared_memory {
    u32 begin[most_parts + 1];  ///< of each part in the tile; first how many places it has
    u32 near;                   ///< of neighbours, how many have places near each other
    u32 touched;                ///< parts that have places of the tile
    alignas(16) unsigned char sorted[tile * (sizeof(T) > 4 ? sizeof(T) : 4)];

    template <class U>
    __device__ U* as() {
      return reinterpret_cast<U*>(sorted);
    }
  };

  /// Elements this near each other are in few lines of memory.
  static constexpr u32 near_by = 1024 / sizeof(T);
  /// Bits are set in shared memory only, whatever the order of their places.
  static constexpr bool sorts_all = Access::kind == single_access::mark;

  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  static __device__ int warp() { return static_cast<int>(threadIdx.x / 32); }
  /// The first element of vector u of this thread.
  static __device__ i64 element(i64 tile_begin, int u) {
    return tile_begin + (u * threads + static_cast<int>(threadIdx.x)) * V;
  }
  static __device__ void load(const P& p, i64 i, i64 n, Inputs& in) {
    load_along<V>(p, i, n, in, [&](char** at) { in.load(at); });
  }
  static __device__ void store(const P& p, i64 i, i64 n, const computed<V, E, Out>& out) {
    char* const to = p.template pointer<char>(0) + i * p.stride(0, 0);
    if (i + V <= n) {
      out.store(&to);
    } else if (i < n) {
      out.store_part(0, static_cast<int>(n - i), &to);
    }
  }

  static __device__ Element* elements(const P& p, const parted& parts) {
    return reinterpret_cast<Element*>(p.template pointer<char>(Access::operand) + parts.first);
  }

  /// Counts become where each part begins, by one warp.
  static __device__ void add_up(const parted& parts, shared_memory& s) {
    u32 before = 0, touched = 0;
    for (u32 k = static_cast<u32>(lane()); k < (parts.count + 31) / 32 * 32; k += 32) {
      const u32 own = k < parts.count ? s.begin[k] : 0, up_to = sum_of_lanes(own);
      if (k < parts.count) s.begin[k] = before + up_to - own;
      before += __shfl_sync(every_lane, up_to, 31, 32);
      touched += static_cast<u32>(__popc(__ballot_sync(every_lane, own > 0)));
    }
    if (lane() == 0) s.begin[parts.count] = before, s.touched = touched;
  }
  /// The number of a place among those of its part in the tile, in any order. Lanes that all have
  /// places in one part would wait for each other.
  static __device__ u32 rank_of(u32 place, const parted& parts, shared_memory& s) {
    const u32 part = place == none ? none : place >> parts.shift;
    const u32 of_first = __shfl_sync(every_lane, part, 0, 32);
    const bool is_one = __ballot_sync(every_lane, part == of_first) == every_lane;
    if (part == none) return 0;
    if (!is_one) return atomicAdd(&s.begin[part], u32{1});
    u32 first = 0;
    if (lane() == 0) first = atomicAdd(&s.begin[part], u32{32});
    return __shfl_sync(every_lane, first, 0, 32) + static_cast<u32>(lane());
  }

  /// A tile whose places are near each other as they are, or in few parts.
  static __device__ void run_direct(const P& p, const parted& parts, const u32 (&place)[each],
                                    const Element (&value)[writes ? each : 1], i64 first, i64 n) {
    Element* const at = elements(p, parts);
    if constexpr (writes) {
#pragma unroll
      for (int e = 0; e < each; ++e) {
        if (place[e] != none) at[place[e]] = value[e];
      }
    } else {
      if (found_by_check<In...>(p) != 0) return;
      Element picked[each];
#pragma unroll
      for (int e = 0; e < each; ++e) {
        if (place[e] != none) picked[e] = at[place[e]];
      }
      Inputs in[vectors];
#pragma unroll
      for (int u = 0; u < vectors; ++u) load(p, element(first, u), n, in[u]);
      loads_are_above();
      compute(p, in, first, n, [&](int u, int l) -> const Element& { return picked[u * V + l]; });
    }
  }
  /// Computes a tile whose elements of the side operand are picked(vector, lane).
  template <class F>
  static __device__ void compute(const P& p, const Inputs (&in)[vectors], i64 first, i64 n,
                                 const F& picked) {
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      const i64 i = element(first, u);
      computed<V, E, Out> out{};  // of the last vector some lanes are not there
#pragma unroll
      for (int l = 0; l < V; ++l) {
        if (i + l >= n) continue;
        using C = lane_context<P, V, Wide, In...>;
        const T element = kernels::load<T>(reinterpret_cast<const T*>(&picked(u, l)));
        out.set(l, context_with_picked<C, T>{{p, in[u], i + l, l}, element});
      }
      store(p, i, n, out);
    }
  }

  /// A tile's places, sorted by part, and where each lane's is, or the values.
  static __device__ void partition(const P& p, const parted& parts, shared_memory& s) {
    const i64 n = p.kept(), first = static_cast<i64>(blockIdx.x) * tile;
    Inputs in[vectors];
#pragma unroll
    for (int u = 0; u < vectors; ++u) load(p, element(first, u), n, in[u]);
    loads_are_above();
    for (u32 k = threadIdx.x; k < parts.count; k += threads) s.begin[k] = 0;
    if (threadIdx.x == 0) s.near = 0;
    __syncthreads();
    u32 place[each], near = 0;
    Element value[writes ? each : 1];
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
#pragma unroll
      for (int l = 0; l < V; ++l) {
        const i64 i = element(first, u) + l;
        const lane_context<P, V, Wide, In...> here{p, in[u], i, l};
        u32& at = place[u * V + l];
        at = none;
        if (i >= n || !Access::is_there(here)) continue;
        at = Access::place(here, parts.first);
        if constexpr (writes) *reinterpret_cast<T*>(&value[u * V + l]) = convert<T>(E::value(here));
      }
      const u32 before = __shfl_up_sync(every_lane, place[u * V], 1, 32);
      const bool is_near = lane() > 0 && place[u * V] - before + near_by <= 2 * near_by;
      near += static_cast<u32>(__popc(__ballot_sync(every_lane, is_near)));
    }
    if (lane() == 0) atomicAdd(&s.near, near);
    __syncthreads();
    bool is_direct = sorts_all ? false : s.near > static_cast<u32>(vectors * threads / 2);
    u32 rank[each];
    if (!is_direct) {
#pragma unroll
      for (int e = 0; e < each; ++e) rank[e] = rank_of(place[e], parts, s);
      __syncthreads();
      if (warp() == 0) add_up(parts, s);
      __syncthreads();
      is_direct = !sorts_all && s.touched <= parts.resident;
    }
    for (u32 k = threadIdx.x; k <= parts.count; k += threads) {
      const u32 begin = s.begin[k], count = k < parts.count ? s.begin[k + 1] - begin : 0;
      parts.runs[k * static_cast<i64>(gridDim.x) + blockIdx.x] = k == parts.count
                                                                     ? static_cast<u32>(is_direct)
                                                                 : is_direct ? 0
                                                                             : begin | count << 16;
    }
    if constexpr (!sorts_all) {
      if (is_direct) return run_direct(p, parts, place, value, first, n);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (place[e] == none) continue;
      rank[e] += s.begin[place[e] >> parts.shift];
      s.template as<u32>()[rank[e]] = place[e];
    }
    if constexpr (reads) {
      u16* const slots = parts.slots + first;
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
        vec<u16, V> of_vector;
#pragma unroll
        for (int l = 0; l < V; ++l) of_vector.v[l] = static_cast<u16>(rank[u * V + l]);
        *reinterpret_cast<vec<u16, V>*>(slots + (element(first, u) - first)) = of_vector;
      }
    }
    __syncthreads();
    copy_out(s.template as<u32>(), parts.places + first);
    if constexpr (writes) {
      __syncthreads();
#pragma unroll
      for (int e = 0; e < each; ++e) {
        if (place[e] != none) s.template as<Element>()[rank[e]] = value[e];
      }
      __syncthreads();
      copy_out(s.template as<Element>(), reinterpret_cast<Element*>(parts.values) + first);
    }
  }
  /// A whole tile, by vectors of 16 bytes.
  template <class From>
  static __device__ void copy_out(const From* from, From* to) {
    using Words = aligned_words<16>;
    constexpr int count = tile * sizeof(From) / sizeof(Words);
    for (int k = static_cast<int>(threadIdx.x); k < count; k += threads)
      reinterpret_cast<Words*>(to)[k] = reinterpret_cast<const Words*>(from)[k];
  }

  /// Has the L2 cache read a share of the part behind `part`: lines that are written in pieces take
  /// twice as long where it has not.
  static __device__ void read_ahead(const Element* at_first, const parted& parts, u32 part,
                                    u32 blocks) {
    constexpr u64 line = 128;
    const u64 part_bytes = sizeof(Element) << parts.shift;
    const u64 share = (part_bytes / line + blocks - 1) / blocks * line;
    const u64 begin = (part + u64{1}) * part_bytes, end = begin + part_bytes;
    const u64 first = begin + blockIdx.x % blocks * share, past = first + share;
    const char* const at = reinterpret_cast<const char*>(at_first);
    for (u64 k = first + threadIdx.x * line; k < past && k < end && k < parts.bytes;
         k += threads * line) {
      prefetch(at + k);
    }
  }

  /// Accesses a part of the operand from the places of parted_runs tiles a warp.
  static __device__ void access(const P& p, const parted& parts) {
    constexpr int together = 8;
    const u32 blocks = gridDim.x / parts.count, part = blockIdx.x / blocks;
    const i64 first_tile = static_cast<i64>(blockIdx.x % blocks) * (warps * parted_runs) + warp();
    Element* const at_first = elements(p, parts);
    Element* const values = reinterpret_cast<Element*>(parts.values);
    if constexpr (writes) read_ahead(at_first, parts, part, blocks);
    u32 runs[parted_runs];
#pragma unroll
    for (int r = 0; r < parted_runs; ++r) {
      const i64 t = first_tile + r * warps;
      runs[r] = t < parts.tiles ? parts.runs[part * parts.tiles + t] : 0;
    }
    loads_are_above();
#pragma unroll 1
    for (int r = 0; r < parted_runs; ++r) {
      const int count = static_cast<int>(runs[r] >> 16);
      const i64 begin = (first_tile + r * warps) * tile + (runs[r] & 0xffff);
#pragma unroll 1
      for (int j = lane(); j < count; j += 32 * together) {
        u32 place[together];
        Element value[together];
#pragma unroll
        for (int u = 0; u < together; ++u) {
          const i64 at = begin + j + 32 * u;
          if (j + 32 * u >= count) continue;
          place[u] = load_once(parts.places + at);
          if constexpr (writes) value[u] = load_once(values + at);
        }
        loads_are_above();
#pragma unroll
        for (int u = 0; u < together; ++u) {
          if (j + 32 * u >= count) continue;
          if constexpr (reads)
            value[u] = at_first[place[u]];
          else
            at_first[place[u]] = value[u];
        }
        if constexpr (reads) {
          loads_are_above();
#pragma unroll
          for (int u = 0; u < together; ++u) {
            if (j + 32 * u < count) values[begin + j + 32 * u] = value[u];
          }
        }
      }
    }
  }

  /// Sets the bits of a part, all of them by one block, in shared memory first.
  static __device__ void mark(const P& p, const parted& parts, shared_memory& s) {
    constexpr int together = 8;
    const i64 part = blockIdx.x;
    const u32 words = ((1u << parts.shift) + 31) / 32, inside = (1u << parts.shift) - 1;
    u32* const bits = s.template as<u32>();
    for (u32 k = threadIdx.x; k < words; k += threads) bits[k] = 0;
    __syncthreads();
    bool is_repeated = false;
    for (i64 tiles = warp() * 32; tiles < parts.tiles; tiles += warps * 32) {
      const i64 own = tiles + lane();
      const u32 run = own < parts.tiles ? parts.runs[part * parts.tiles + own] : 0;
#pragma unroll 1
      for (int t = 0; t < 32; t += together) {
        u32 runs[together], longest = 0;
#pragma unroll
        for (int u = 0; u < together; ++u) {
          runs[u] = __shfl_sync(every_lane, run, static_cast<u32>(t + u), 32);
          longest = runs[u] >> 16 > longest ? runs[u] >> 16 : longest;
        }
        for (u32 j = static_cast<u32>(lane()); j - static_cast<u32>(lane()) < longest; j += 32) {
          u32 place[together];
#pragma unroll
          for (int u = 0; u < together; ++u) {
            const i64 begin = (tiles + t + u) * tile + (runs[u] & 0xffff);
            if (j < runs[u] >> 16) place[u] = load_once(parts.places + begin + j);
          }
          loads_are_above();
#pragma unroll
          for (int u = 0; u < together; ++u) {
            if (j >= runs[u] >> 16) continue;
            const u32 bit = u32{1} << (place[u] & 31);
            is_repeated |= (atomicOr(&bits[(place[u] & inside) >> 5], bit) & bit) != 0;
          }
        }
      }
    }
    __syncthreads();
    u32* const first = p.template pointer<u32>(0);
    for (u32 k = threadIdx.x; k < words; k += threads) {
      u32& word = first[1 + part * words + k];
      if (bits[k] == 0) continue;  // there may be no such word
      is_repeated |= (word & bits[k]) != 0;
      word |= bits[k];
    }
    if (is_repeated) *first = 1;
  }

  /// Computes a tile from what has been read.
  static __device__ void restore(const P& p, const parted& parts, shared_memory& s) {
    const i64 n = p.kept(), first = static_cast<i64>(blockIdx.x) * tile;
    if (parts.runs[parts.count * static_cast<i64>(gridDim.x) + blockIdx.x] != 0) return;
    using Words = aligned_words<16>;
    constexpr int count = tile * sizeof(Element) / sizeof(Words), words = count / threads;
    const Words* const values =
        reinterpret_cast<const Words*>(reinterpret_cast<const Element*>(parts.values) + first);
    Words word[words];
#pragma unroll
    for (int k = 0; k < words; ++k) word[k] = load_once(values + k * threads + threadIdx.x);
    vec<u16, V> slot[vectors];
#pragma unroll
    for (int u = 0; u < vectors; ++u)
      slot[u] = *reinterpret_cast<const vec<u16, V>*>(parts.slots + element(first, u));
    loads_are_above();
#pragma unroll
    for (int k = 0; k < words; ++k)
      s.template as<Words>()[k * threads + static_cast<int>(threadIdx.x)] = word[k];
    Inputs in[vectors];
#pragma unroll
    for (int u = 0; u < vectors; ++u) load(p, element(first, u), n, in[u]);
    __syncthreads();
    compute(p, in, first, n, [&](int u, int l) -> const Element& {
      return s.template as<const Element>()[slot[u].v[l]];
    });
  }

  static __device__ void run(const P& p, const parted& parts) {
    __shared__ shared_memory s;
    if (parts.step == parted_step::partition) return partition(p, parts, s);
    if constexpr (sorts_all) {
      mark(p, parts, s);
    } else {
      if (parts.step == parted_step::access) return access(p, parts);
      if constexpr (reads) restore(p, parts, s);
    }
  }
  using param_type = P;
};

/// V > 1 requires that inputs are dense (bit k of Wide for input k) or have the stride 0, and that
/// an output that is no side operand is dense; all by aligned vectors.
template <class M, int V, unsigned Wide>
__global__ void __launch_bounds__(parted_threads, 2)
    map_parted(const __grid_constant__ typename map_parted_body<M, V, Wide>::param_type p,
               const __grid_constant__ parted parts) {
  wait_for_stream();
  map_parted_body<M, V, Wide>::run(p, parts);
}

}  // namespace quarry::kernels
