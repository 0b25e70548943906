// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/picks.hpp>
#include <quarry/kernels/scatter.hpp>

#include "kernels/map.cuh"
#include "kernels/total.cuh"

/// Maps along one axis that read or write single elements of a side operand in no order, by radix
/// partitioning. The operand is cut into parts that the L2 cache has. Tiles of the map sort their
/// places by part; then the elements are accessed part by part; what has been read is brought back
/// into the order of the map. Every step reads and writes whole lines, where each access in no
/// order takes a line of memory for itself.
namespace quarry::kernels {

/// The places of a map's side operand, and what is done with its element there.
template <class E, class Out>
struct parted_access {  // reads it
  using Pick = only_pick<E>;
  using type = typename Pick::type;
  static constexpr bool is_read = true;
  static constexpr int operand = 1 + Pick::input;
  template <class C>
  static __device__ bool is_there(const C& /*c*/) {
    return true;
  }
  template <class C>
  static __device__ i64 offset(const C& c) {
    return Pick::offset(c);
  }
  template <class C>
  static __device__ type value(const C& /*c*/) {
    return {};
  }
};
template <class E, class T, int First, int Axes>
struct parted_access<E, side<T, First, Axes>> {  // writes it
  using type = T;
  static constexpr bool is_read = false;
  static constexpr int operand = 0;
  template <class C>
  static __device__ bool is_there(const C& c) {
    return E::is_written(c);
  }
  template <class C>
  static __device__ i64 offset(const C& c) {
    return E::offset(c);
  }
  template <class C>
  static __device__ T value(const C& c) {
    return convert<T>(E::value(c));
  }
};

/// The context of a lane whose element of the side operand has been read.
template <class C, class T>
struct context_with_picked : C {
  T picked;
  template <class U, int K>
  __device__ U input_at(i64 /*offset*/) const {
    return picked;
  }
};

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
  static constexpr int tile = parted_tile(sizeof(T), Access::is_read);
  static constexpr int threads = parted_threads;
  static constexpr int each = tile / threads, vectors = each / V, warps = threads / 32;
  static constexpr u32 every_lane = 0xffffffffu;

  struct shared_memory {
    u32 begin[most_parts + 1];  ///< of each part in the tile; first how many places it has
    u32 together;               ///< of neighbours, how many have places in one part
    alignas(16) unsigned char sorted[tile * (sizeof(T) > 4 ? sizeof(T) : 4)];

    template <class U>
    __device__ U* as() {
      return reinterpret_cast<U*>(sorted);
    }
  };

  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  static __device__ int warp() { return static_cast<int>(threadIdx.x / 32); }
  /// The first element of vector u of this thread.
  static __device__ i64 element(i64 tile_begin, int u) {
    return tile_begin + (u * threads + static_cast<int>(threadIdx.x)) * V;
  }
  static __device__ void load(const P& p, i64 i, i64 n, Inputs& in) {
    char* at[Types::count];
#pragma unroll
    for (int k = 1; k < Types::count; ++k) at[k] = p.template pointer<char>(k) + i * p.stride(k, 0);
    if (i + V <= n) {
      in.load(at + 1);
    } else if (i < n) {
      in.load_part(at + 1, static_cast<int>(n - i));
    }
  }
  static __device__ void store(const P& p, i64 i, i64 n, const computed<V, E, Out>& out) {
    char* const to = p.template pointer<char>(0) + i * p.stride(0, 0);
    if (i + V <= n) {
      out.store(&to);
    } else if (i < n) {
      out.store_part(0, static_cast<int>(n - i), &to);
    }
  }

  /// Counts become where each part begins, by one warp.
  static __device__ void add_up(const parted& parts, shared_memory& s) {
    u32 before = 0;
    for (u32 k = static_cast<u32>(lane()); k < (parts.count + 31) / 32 * 32; k += 32) {
      const u32 own = k < parts.count ? s.begin[k] : 0, up_to = sum_of_lanes(own);
      if (k < parts.count) s.begin[k] = before + up_to - own;
      before += __shfl_sync(every_lane, up_to, 31, 32);
    }
    if (lane() == 0) s.begin[parts.count] = before;
  }

  /// Without parts: all lanes as a map has them. What has been loaded before would take registers.
  static __device__ void run_direct(const P& p, i64 first, i64 n) {
    Inputs in[vectors];
#pragma unroll
    for (int u = 0; u < vectors; ++u) load(p, element(first, u), n, in[u]);
    loads_are_above();
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      const i64 i = element(first, u);
      if constexpr (Access::is_read) {
        computed<V, E, Out> out{};  // of the last vector some lanes are not there
#pragma unroll
        for (int l = 0; l < V; ++l) {
          if (i + l < n) out.set(l, lane_context<P, V, Wide, In...>{p, in[u], i + l, l});
        }
        store(p, i, n, out);
      } else {
#pragma unroll
        for (int l = 0; l < V; ++l) {
          const lane_context<P, V, Wide, In...> here{p, in[u], i + l, l};
          if (i + l >= n || !Access::is_there(here)) continue;
          *reinterpret_cast<T*>(p.template pointer<char>(0) + Access::offset(here)) =
              Access::value(here);
        }
      }
    }
  }

  /// A tile's places, sorted by part, and where each lane's is, or the values.
  static __device__ void partition(const P& p, const parted& parts, shared_memory& s) {
    constexpr u32 none = ~u32{0};
    const i64 n = p.kept(), first = static_cast<i64>(blockIdx.x) * tile;
    Inputs in[vectors];
#pragma unroll
    for (int u = 0; u < vectors; ++u) load(p, element(first, u), n, in[u]);
    loads_are_above();
    for (u32 k = threadIdx.x; k < parts.count; k += threads) s.begin[k] = 0;
    if (threadIdx.x == 0) s.together = 0;
    __syncthreads();
    u32 place[each], together = 0;
    Element value[Access::is_read ? 1 : each];
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
#pragma unroll
      for (int l = 0; l < V; ++l) {
        const i64 i = element(first, u) + l;
        const lane_context<P, V, Wide, In...> here{p, in[u], i, l};
        u32& at = place[u * V + l];
        at = none;
        if (i >= n || !Access::is_there(here)) continue;
        at = static_cast<u32>(static_cast<u64>(Access::offset(here) - parts.first) / sizeof(T));
        if constexpr (!Access::is_read)
          *reinterpret_cast<T*>(&value[u * V + l]) = Access::value(here);
      }
      const u32 before = __shfl_up_sync(every_lane, place[u * V + V - 1], 1, 32);
      const bool is_same = before >> parts.shift == place[u * V] >> parts.shift;
      together += static_cast<u32>(__popc(__ballot_sync(every_lane, is_same && lane() > 0)));
    }
    if (lane() == 0) atomicAdd(&s.together, together);
    __syncthreads();
    const bool is_direct = s.together > static_cast<u32>(vectors * threads / 2);
    u32 rank[each];
    if (!is_direct) {
#pragma unroll
      for (int e = 0; e < each; ++e) {
        if (place[e] != none) rank[e] = atomicAdd(&s.begin[place[e] >> parts.shift], u32{1});
      }
      __syncthreads();
      if (warp() == 0) add_up(parts, s);
      __syncthreads();
    }
    for (u32 k = threadIdx.x; k <= parts.count; k += threads) {
      const u32 begin = s.begin[k], count = k < parts.count ? s.begin[k + 1] - begin : 0;
      parts.runs[k * static_cast<i64>(gridDim.x) + blockIdx.x] = k == parts.count
                                                                     ? static_cast<u32>(is_direct)
                                                                 : is_direct ? 0
                                                                             : begin | count << 16;
    }
    if (is_direct) return run_direct(p, first, n);
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (place[e] == none) continue;
      rank[e] += s.begin[place[e] >> parts.shift];
      s.template as<u32>()[rank[e]] = place[e];
    }
    if constexpr (Access::is_read) {
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
    if constexpr (!Access::is_read) {
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

  /// Accesses a part of the operand from the places of parted_runs tiles a warp.
  static __device__ void access(const P& p, const parted& parts) {
    constexpr int together = 8;
    const u32 blocks = gridDim.x / parts.count, part = blockIdx.x / blocks;
    const i64 first_tile = static_cast<i64>(blockIdx.x % blocks) * (warps * parted_runs) + warp();
    Element* const elements =
        reinterpret_cast<Element*>(p.template pointer<char>(Access::operand) + parts.first);
    Element* const values = reinterpret_cast<Element*>(parts.values);
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
          if constexpr (!Access::is_read) value[u] = load_once(values + at);
        }
        loads_are_above();
#pragma unroll
        for (int u = 0; u < together; ++u) {
          if (j + 32 * u >= count) continue;
          if constexpr (Access::is_read)
            value[u] = elements[place[u]];
          else
            elements[place[u]] = value[u];
        }
        if constexpr (Access::is_read) {
          loads_are_above();
#pragma unroll
          for (int u = 0; u < together; ++u) {
            if (j + 32 * u < count) values[begin + j + 32 * u] = value[u];
          }
        }
      }
    }
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
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      const i64 i = element(first, u);
      computed<V, E, Out> out{};  // of the last vector some lanes are not there
#pragma unroll
      for (int l = 0; l < V; ++l) {
        if (i + l >= n) continue;
        using C = lane_context<P, V, Wide, In...>;
        const T picked = kernels::load<T>(s.template as<const T>() + slot[u].v[l]);
        out.set(l, context_with_picked<C, T>{{p, in[u], i + l, l}, picked});
      }
      store(p, i, n, out);
    }
  }

  static __device__ void run(const P& p, const parted& parts) {
    __shared__ shared_memory s;
    if (parts.step == parted_step::partition) return partition(p, parts, s);
    if (parts.step == parted_step::access) return access(p, parts);
    if constexpr (Access::is_read) restore(p, parts, s);
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
