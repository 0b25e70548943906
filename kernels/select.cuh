// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/vector.cuh"

/// The elements for which a predicate is true, in one pass: every block takes the next tile, counts
/// what it keeps there, and looks back at the tiles before for how many are kept there (Merrill and
/// Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016). Counts are integers,
/// so the result does not depend on which block is first.
namespace quarry::kernels {

/// The words that blocks tell each other by: the number of the next tile, then one for each tile,
/// which is written in one access; 0 says nothing yet.
struct tile_counts {
  static constexpr u64 of_tile = u64{1} << 62;  ///< how many are kept in the tile
  static constexpr u64 of_all = u64{1} << 63;   ///< in it and all before it
  static constexpr u64 number = of_tile - 1;

  u64* word;

  __device__ static u64 read(const u64* at) {
#ifdef __CUDA_ARCH__
    return *reinterpret_cast<const volatile u64*>(at);
#else
    return __atomic_load_n(at, __ATOMIC_RELAXED);
#endif
  }
  __device__ void tell(i64 tile, u64 text) const {
#ifdef __CUDA_ARCH__
    *reinterpret_cast<volatile u64*>(word + 1 + tile) = text;
#else
    __atomic_store_n(word + 1 + tile, text, __ATOMIC_RELAXED);
#endif
  }
  __device__ i64 next_tile() const {
    return static_cast<i64>(atomicAdd(reinterpret_cast<unsigned long long*>(word), 1ull));
  }

  __device__ static void wait_a_little() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    __nanosleep(200);
#endif
  }

  /// A tile's word for each lane, `tile` first; before the first tile nothing is kept.
  __device__ u64 look(i64 tile) const {
    const i64 t = tile - static_cast<i64>(threadIdx.x % 32);
    return t >= 0 ? read(word + 1 + t) : of_all;
  }
  /// How many are kept before `tile` > 0. Called by a whole warp, which looks at several rows of 32
  /// tiles at once, and less often where one has not told anything yet.
  __device__ u64 before(i64 tile) const {
    constexpr int rows = 4;
    const u32 nearer = (1u << threadIdx.x % 32) - 1;
    u64 sum = 0;
    bool is_end = false;
    for (i64 last = tile - 1; !is_end; last -= 32 * rows) {
      u64 seen;
      for (bool is_ready = false; !is_ready;) {
        u64 text[rows];
#pragma unroll
        for (int row = 0; row < rows; ++row) text[row] = look(last - 32 * row);
        is_ready = true, seen = 0;
#pragma unroll
        for (int row = 0; row < rows; ++row) {
          const u32 ends = __ballot_sync(0xffffffffu, (text[row] & of_all) != 0);
          const u32 waiting = __ballot_sync(0xffffffffu, text[row] == 0);
          if (is_end || !is_ready) continue;
          is_ready = (waiting & ((ends - 1) & ~ends)) == 0;  // lanes nearer than the first end
          is_end = is_ready && ends != 0;
          if ((ends & nearer) == 0) seen += text[row] & number;
        }
        if (!is_ready) wait_a_little();
      }
      sum += seen;
    }
#pragma unroll
    for (u32 apart = 16; apart > 0; apart /= 2) {
      const u32 high = __shfl_xor_sync(0xffffffffu, static_cast<u32>(sum >> 32), apart);
      const u32 low = __shfl_xor_sync(0xffffffffu, static_cast<u32>(sum), apart);
      sum += u64{high} << 32 | low;
    }
    return sum;
  }
};

/// The context of an element that has a rank in the place of its position.
template <class C>
struct ranked : C {
  i64 rank;
  __device__ i64 index() const { return rank; }
};

template <class M, int R, class Index, int V, unsigned Wide>
struct select_body;

template <class P, class E, class Out, bool InPlace, int S, class... In, int R, class Index, int V,
          unsigned Wide>
struct select_body<select_of<P, E, Out, InPlace, S, In...>, R, Index, V, Wide> {
  using Types = operands_of<several<i64, Out>, In...>;
  using B = params<Types::count, S, R>;
  using Loaded = loaded<V, Wide, 0, In...>;
  static constexpr int count = 0, out = 1, inputs = 2;  // operands
  static constexpr int vectors = select_vectors(Types::largest(out), V), items = vectors * V;
  static constexpr int warps = select_threads / 32, segment = 32 * items, tile = warps * segment;
  static constexpr bool is_staged = !InPlace && sizeof(Out) <= 32;
  static constexpr u32 every_lane = 0xffffffffu;

  struct shared_memory {
    alignas(16) char values[is_staged ? sizeof(Out) * tile + 4 : 1];
    int kept[warps];
    i64 next;
    u64 before;
  };

  /// Where element i of the operands from `out` on is.
  static __device__ void locate(const B& p, i64 i, char** at) {
    Index offset[Types::count] = {}, rest = static_cast<Index>(i);
#pragma unroll
    for (int d = R - 1; d >= 0; --d) {
      Index j = rest;
      if (d > 0) {
        const Index extent = static_cast<Index>(p.extent(d));
        rest = quotient(rest, extent);
        j -= rest * extent;
      }
#pragma unroll
      for (int k = out; k < Types::count; ++k) offset[k] += j * static_cast<Index>(p.stride(k, d));
    }
#pragma unroll
    for (int k = out; k < Types::count; ++k) at[k] = p.template pointer<char>(k) + offset[k];
  }

  /// What a thread has of a tile: vectors, 32 V elements apart, from element `first` on.
  struct share {
    Loaded in[vectors];
    i64 first;
    u32 kept = 0;  ///< a bit for every element

    __device__ i64 start(int u) const { return first + u * (32 * V); }
    __device__ auto context(const B& p, int u, int lane) const {
      return lane_context<B, V, Wide, In...>{p, in[u], start(u) + lane, lane};
    }
    __device__ void load(const B& p) {
      const i64 n = p.kept();
      char* at[Types::count];
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
        const i64 i = start(u);
        if (i + V <= n) {
          locate(p, i, at);
          in[u].load(at + inputs);
        } else if (V > 1 && i < n) {
          locate(p, i, at);
          in[u].load_part(at + inputs, static_cast<int>(n - i));
        }
      }
      loads_are_above();
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
#pragma unroll
        for (int lane = 0; lane < V; ++lane) {
          if (start(u) + lane < n && P{}(context(p, u, lane))) kept |= 1u << (u * V + lane);
        }
      }
    }
    __device__ bool has(int u, int lane) const { return (kept >> (u * V + lane) & 1) != 0; }
    __device__ u32 count_of(int u) const {
      return static_cast<u32>(__popc(kept >> (u * V) & ((V < 32 ? 1u << V : 0u) - 1)));
    }
  };

  /// How many the lanes before keep of each vector of the warp, and the warp of all of them. Counts
  /// of several vectors are in one word.
  struct warp_counts {
    static constexpr int bits = V <= 4 ? 8 : 16, in_word = 32 / bits;
    static constexpr int words = (vectors + in_word - 1) / in_word;
    u32 before[words] = {}, all[words];

    __device__ explicit warp_counts(const share& mine) {
      u32 own[words] = {};
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
        own[u / in_word] += mine.count_of(u) << (u % in_word * bits);
      }
#pragma unroll
      for (int w = 0; w < words; ++w) {
        u32 sum = own[w];
#pragma unroll
        for (u32 apart = 1; apart < 32; apart *= 2) {
          const u32 other = __shfl_up_sync(every_lane, sum, apart, 32);
          if (threadIdx.x % 32 >= apart) sum += other;
        }
        all[w] = __shfl_sync(every_lane, sum, 31, 32);
        before[w] = sum - own[w];
      }
    }
    __device__ static int field(const u32* word, int u) {
      return static_cast<int>(word[u / in_word] >> (u % in_word * bits) & ((1u << bits) - 1));
    }
    __device__ int total() const {
      int sum = 0;
#pragma unroll
      for (int u = 0; u < vectors; ++u) sum += field(all, u);
      return sum;
    }
  };

  /// Calls f(u, lane, rank) for the elements that are kept, the first one of the warp has `rank`.
  template <class F>
  static __device__ void for_each_kept(const share& mine, const warp_counts& counts, int rank,
                                       const F& f) {
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      int next = rank + warp_counts::field(counts.before, u);
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        if (mine.has(u, lane)) f(u, lane, next++);
      }
      rank += warp_counts::field(counts.all, u);
    }
  }

  /// Stores the tile's values behind the first `before` ones. Those of less than 4 bytes are
  /// written by words, which begin where they do in memory.
  static __device__ void store(const B& p, const shared_memory& shared, i64 before, int n) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (sizeof(Out) % 4 == 0) {
      Out* const to = p.template pointer<Out>(out) + before;
      const Out* const from = reinterpret_cast<const Out*>(shared.values);
#pragma unroll 4
      for (int i = thread; i < n; i += select_threads) to[i] = from[i];
    } else {
      constexpr int size = sizeof(Out);
      char* const to = p.template pointer<char>(out) + before * size;
      const int bytes = n * size, lead = static_cast<int>(-reinterpret_cast<u64>(to) % 4);
      const int head = lead < bytes ? lead : bytes, words = (bytes - head) / 4;
      const u32* const from = reinterpret_cast<const u32*>(shared.values);
      u32* const aligned = reinterpret_cast<u32*>(to + head);
#pragma unroll 4
      for (int i = thread; i < words; i += select_threads) {
        aligned[i] = static_cast<u32>((u64{from[i + 1]} << 32 | from[i]) >> (8 * head));
      }
      const int rest = head + 4 * words;
      if (thread < head) to[thread] = shared.values[thread];
      if (thread < bytes - rest) to[rest + thread] = shared.values[rest + thread];
    }
  }

  static __device__ void run_tile(const B& p, const tile_counts& counts, i64 t,
                                  shared_memory& shared) {
    const int warp = static_cast<int>(threadIdx.x / 32);
    share mine;
    mine.first = t * tile + warp * segment + static_cast<i64>(threadIdx.x % 32) * V;
    mine.load(p);
    const warp_counts of_warp(mine);
    if (threadIdx.x % 32 == 0) shared.kept[warp] = of_warp.total();
    __syncthreads();
    int rank = 0, all = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      if (w < warp) rank += shared.kept[w];
      all += shared.kept[w];
    }
    if (threadIdx.x == 0 && counts.word) {
      counts.tell(t, (t == 0 ? tile_counts::of_all : tile_counts::of_tile) | static_cast<u64>(all));
    }
    const bool is_written = p.address(out) != 0;
    if constexpr (is_staged) {
      Out* const values = reinterpret_cast<Out*>(shared.values);
      if (is_written) {
        for_each_kept(mine, of_warp, rank, [&](int u, int lane, int to) {
          values[to] = convert<Out>(E{}(mine.context(p, u, lane)));
        });
      }
    }
    if (warp == 0) {
      const u64 before = t > 0 ? counts.before(t) : 0;
      if (threadIdx.x == 0) {
        if (t > 0) counts.tell(t, tile_counts::of_all | (before + static_cast<u64>(all)));
        if (t == (p.kept() - 1) / tile)
          *p.template pointer<i64>(count) = static_cast<i64>(before) + all;
        shared.before = before;
      }
    }
    __syncthreads();
    if (!is_written) return;
    const i64 before = static_cast<i64>(shared.before);
    if constexpr (is_staged) {
      store(p, shared, before, all);
    } else if constexpr (InPlace) {
      char* at[Types::count];
      for_each_kept(mine, of_warp, rank, [&](int u, int lane, int to) {
        using Context = decltype(mine.context(p, u, lane));
        locate(p, mine.start(u) + lane, at);
        *reinterpret_cast<Out*>(at[out]) =
            convert<Out>(E{}(ranked<Context>{mine.context(p, u, lane), before + to}));
      });
    } else {
      for_each_kept(mine, of_warp, rank, [&](int u, int lane, int to) {
        p.template pointer<Out>(out)[before + to] = convert<Out>(E{}(mine.context(p, u, lane)));
      });
    }
  }

  static __device__ void run(const B& p, const tile_counts& counts) {
    __shared__ shared_memory shared;
    if (!counts.word) return run_tile(p, counts, 0, shared);
    for (;;) {  // a tile is taken by who reads it at once: others wait for what is kept there
      __syncthreads();
      if (threadIdx.x == 0) shared.next = counts.next_tile();
      __syncthreads();
      const i64 t = shared.next;
      if (t * tile >= p.kept()) return;
      run_tile(p, counts, t, shared);
    }
  }
  using param_type = B;
};

/// `words`, all 0, has one word more than there are tiles; nullptr where there is one tile and one
/// block. V > 1 requires that inputs are dense along the last axis (bit k of Wide for input k), by
/// aligned vectors, or do not move along it, and with R > 1 that V divides its extent.
template <class M, int R, int IndexBytes, int V, unsigned Wide>
__global__ void __launch_bounds__(select_threads)
    select(const __grid_constant__
           typename select_body<M, R, index_of<IndexBytes>, V, Wide>::param_type p,
           u64* words) {
  wait_for_stream();
  select_body<M, R, index_of<IndexBytes>, V, Wide>::run(p, tile_counts{words});
}

}  // namespace quarry::kernels
