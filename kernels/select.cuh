// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

#include "kernels/pack_elements.cuh"
#include "kernels/pack_rows.cuh"
#include "kernels/packed.cuh"
#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/total.cuh"
#include "kernels/vector.cuh"

/// The elements for which a predicate is true, in two passes: the first one leaves a bit for every
/// element and counts those that are kept by each block, the second one adds up the counts of the
/// blocks before its own and reads what is kept. Counts are integers, so the result does not depend
/// on the order of blocks. Of rows that a mask selects there is a bit for each.
namespace quarry::kernels {

/// The context of an element that has a rank in the place of its position.
template <class C>
struct ranked : C {
  i64 rank;
  __device__ i64 index() const { return rank; }
};

/// The input that a predicate is; -1 for others.
template <class P>
inline constexpr int mask_of = -1;
template <int K>
inline constexpr int mask_of<in<bool, K>> = K;

template <class M, int R, class Index, int V, unsigned Wide>
struct select_body;

template <class P, class E, class Out, bool InPlace, int S, class... In, int R, class Index, int V,
          unsigned Wide>
struct select_body<select_of<P, E, Out, InPlace, S, In...>, R, Index, V, Wide> {
  using Types = operands_of<several<i64, Out>, In...>;
  using B = params<Types::count, S, R>;
  static constexpr int count = 0, out = 1, inputs = 2;  // operands
  static constexpr int warps = select_threads / 32;
  static constexpr u32 every_lane = 0xffffffffu;
  /// That a lane reads at once in the first pass: a mask's, or others of up to 32 bytes an input.
  static constexpr int read_at_once = mask_of<P> >= 0 ? 4 : 32 / (V * Types::largest(inputs));
  static constexpr int most = V >= 8 ? 2 : 4;
  static constexpr int vectors = read_at_once < 1 ? 1 : read_at_once < most ? read_at_once : most;

  /// Of elements that are kept as they are, by whole vectors (pack_elements.cuh).
  static constexpr int copied = packed_input<E, Out>;
  static constexpr bool packs = R == 1 && !InPlace && copied >= 0;

  /// Rows are packed, too (pack_rows.cuh).
  static constexpr int row_input =
      R == 2 && !InPlace && mask_of<P> >= 0 ? packed_row_input<E, Out> : -1;

  /// On a multiprocessor, with registers for what they load.
  static constexpr int blocks = (packs && sizeof(Out) == 2) || row_input >= 0 ? 2 : 3;

  struct shared_memory {
    u32 bits[select_words];
    union {
      u16 places[32 * 32];
      aligned_words<16> packed[packs ? packed_vectors<Out> : 1];
    } of_warp[warps];
    i64 sums[warps];
  };

  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  static __device__ int warp() { return static_cast<int>(threadIdx.x / 32); }

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

  /// The words of bits of this warp: those from `begin` on before `end`, multiples of V.
  struct share {
    i64 begin, end;

    /// Of n bits; vectors have `width`.
    __device__ share(i64 n, i64 width, i64 words_of_warp) {
      const i64 all = (n + (32 * width - 1)) / (32 * width) * width;
      begin = (static_cast<i64>(blockIdx.x) * warps + warp()) * words_of_warp;
      end = begin + words_of_warp < all ? begin + words_of_warp : all;
    }
  };

  /// Sets the bits of the elements, or of the `rows`, that are kept, clears the others, and returns
  /// how many of a lane's own are kept.
  static __device__ i64 mark(const B& p, const share& mine, u32* bits, bool rows) {
    if constexpr (mask_of<P> >= 0 && (R == 1 || row_input >= 0)) {
      const char* const mask = p.template pointer<char>(inputs + mask_of<P>);
      const bool is_whole = mine.begin % 16 == 0 && mine.end % 16 == 0;
      const i64 n = rows ? p.extent(0) : p.kept(), stride = p.stride(inputs + mask_of<P>, 0);
      const bool is_dense = stride == 1 && reinterpret_cast<u64>(mask) % 16 == 0;
      if (is_whole && is_dense && (R == 1 || rows)) return mark_mask(mask, n, mine, bits);
      if (rows) return mark_rows(mask, stride, n, mine.begin, mine.end, bits);
    }
    const i64 n = mine.end * 32 < p.kept() ? mine.end * 32 : p.kept();
    i64 kept = 0;
    for (i64 w = mine.begin; w < mine.end; w += vectors * V) {
      loaded<V, Wide, 0, In...> in[vectors];
      char* at[Types::count];
      const i64 first = w * 32 + lane() * V;
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
        const i64 i = first + u * (32 * V);
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
        const i64 i = first + u * (32 * V);
        u32 own = 0;
#pragma unroll
        for (int l = 0; l < V; ++l) {
          const lane_context<B, V, Wide, In...> here{p, in[u], i + l, l};
          if (i + l < n && P{}(here)) own |= 1u << l;
        }
        kept += __popc(own);
        const bool is_there = w + u * V < mine.end;
        store_bits(own, is_there, reinterpret_cast<char*>(bits + w + u * V));
      }
    }
    return kept;
  }
  /// The same of bytes, 16 of them by each lane at a time.
  static __device__ i64 mark_mask(const char* mask, i64 n, const share& mine, u32* bits) {
    constexpr int together = packs ? 4 : 2;
    i64 kept = 0;
    for (i64 w = mine.begin; w < mine.end; w += 16 * together) {
      aligned_words<16> bytes[together];
      const i64 first = w * 32 + lane() * 16;
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const i64 i = first + u * 512;
        if (i + 16 <= n) bytes[u] = *reinterpret_cast<const aligned_words<16>*>(mask + i);
      }
      loads_are_above();
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const i64 i = first + u * 512;
        u32 own = 0;
        if (i + 16 <= n) {
#pragma unroll
          for (int k = 0; k < 4; ++k) own |= bytes_not_0(bytes[u].word[k]) << (4 * k);
        } else {
          own = last_are_set(mask, i, n);
        }
        const bool is_there = w + u * 16 < mine.end;
        kept += is_there ? __popc(own) : 0;
        if (is_there) reinterpret_cast<u16*>(bits + w + u * 16)[lane()] = static_cast<u16>(own);
      }
    }
    return kept;
  }
  /// A bit for each byte from number i on that is not 0; there are n bytes, less than 16 from i on.
  static __device__ u32 last_are_set(const char* mask, i64 i, i64 n) {
    u32 set = 0;
#pragma unroll 1
    for (u32 bit = 1; i < n; ++i, bit *= 2) set |= mask[i] != 0 ? bit : 0;
    return set;
  }
  /// The V bits of every lane, one behind the other.
  static __device__ void store_bits(u32 own, bool is_there, char* to) {
    if constexpr (V >= 16) {
      if (is_there) reinterpret_cast<u16*>(to)[lane()] = static_cast<u16>(own);
    } else {
#pragma unroll
      for (int apart = 1; apart * V < 8; apart *= 2) {
        const u32 other = __shfl_xor_sync(every_lane, own, static_cast<u32>(apart));
        const bool is_behind = (lane() & apart) != 0;
        own = (is_behind ? other : own) | (is_behind ? own : other) << (apart * V);
      }
      constexpr int in_byte = V < 8 ? 8 / V : 1;
      if (is_there && lane() % in_byte == 0) {
        reinterpret_cast<u8*>(to)[lane() / in_byte] = static_cast<u8>(own);
      }
    }
  }
  /// How many bits a lane finds.
  static __device__ i64 counted(const share& mine, const u32* bits) {
    i64 sum = 0;
#pragma unroll 4
    for (i64 w = mine.begin + lane(); w < mine.end; w += 32) sum += __popc(bits[w]);
    return sum;
  }

  /// Stores elements that are kept.
  struct target {
    const B& p;

    __device__ void store(const loaded<1, 0, 0, In...>& in, i64 i, i64 rank, char* to) const {
      using Context = lane_context<B, 1, 0, In...>;
      const Context here{p, in, i, 0};
      if constexpr (InPlace) {
        *reinterpret_cast<Out*>(to) = convert<Out>(E{}(ranked<Context>{here, rank}));
      } else {
        p.template pointer<Out>(out)[rank] = convert<Out>(E{}(here));
      }
    }
  };

  /// Lists where in a row of 32 words the bits are set: four words after the others by all lanes, 4
  /// bits each; where few are set, every lane those of a word.
  static __device__ void list(u32 own, int before, int all, u16* places) {
    if (all <= few_bits) {
      for (u32 rest = own; rest != 0; rest &= rest - 1) {
        places[before++] = static_cast<u16>(lane() * 32 + lowest_bit(rest));
      }
    } else {
      const int first = lane() % 8 * 4;
#pragma unroll 4
      for (int k = 0; k < 32; k += 4) {
        const u32 word = __shfl_sync(every_lane, own, k + lane() / 8, 32);
        int at = __shfl_sync(every_lane, before, k + lane() / 8, 32);
        at += static_cast<int>(__popc(word & ((1u << first) - 1)));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if ((word >> (first + j) & 1) != 0) {
            places[at++] = static_cast<u16>(k * 32 + lane() * 4 + j);
          }
        }
      }
    }
    __syncwarp();
  }

  /// Stores the elements whose bits are set, a row of 32 words at a time; `rank` are kept before
  /// them.
  static __device__ void collect(const B& p, const share& mine, const u32* bits, i64 rank,
                                 u16* places) {
    constexpr int together = sizeof(Out) > 16 ? 2 : 4;
    const target to{p};
    const auto row = [&](i64 w) { return w + lane() < mine.end ? bits[w + lane()] : 0; };
    u32 next = row(mine.begin);
    for (i64 w = mine.begin; w < mine.end; w += 32) {
      const u32 own = next;
      next = row(w + 32);
      const int count = static_cast<int>(__popc(own)), up_to = sum_of_lanes(count);
      const int all = __shfl_sync(every_lane, up_to, 31, 32);
      list(own, up_to - count, all, places);
      for (int r = lane(); r < all; r += 32 * together) {
        i64 position[together];
        char* at[Types::count];
        char* place[together];
        loaded<1, 0, 0, In...> in[together];
#pragma unroll
        for (int u = 0; u < together; ++u) {
          if (r + 32 * u < all) position[u] = w * 32 + places[r + 32 * u];
        }
#pragma unroll
        for (int u = 0; u < together; ++u) {
          if (r + 32 * u >= all) continue;
          locate(p, position[u], at);
          in[u].load(at + inputs);
          place[u] = at[out];
        }
        loads_are_above();
#pragma unroll
        for (int u = 0; u < together; ++u) {
          if (r + 32 * u < all) to.store(in[u], position[u], rank + r + 32 * u, place[u]);
        }
      }
      __syncwarp();
      rank += all;
    }
  }

  /// Stores the rows whose bits are set, a row of 32 words at a time; `rank` are kept before them.
  static __device__ void collect_rows(const B& p, const share& mine, const u32* bits, i64 rank,
                                      u16* places) {
    const i64 bytes = p.extent(1) * static_cast<i64>(sizeof(Out));
    const char* const from = p.template pointer<const char>(inputs + row_input);
    char* const to = p.template pointer<char>(out);
    for (i64 w = mine.begin; w < mine.end; w += 32) {
      const u32 own = w + lane() < mine.end ? bits[w + lane()] : 0;
      const int count = static_cast<int>(__popc(own)), up_to = sum_of_lanes(count);
      const int all = __shfl_sync(every_lane, up_to, 31, 32);
      list(own, up_to - count, all, places);
      if (all > 0) {
        pack_rows<Out>({from + w * 32 * bytes, static_cast<i32>(bytes), places, all},
                       to + rank * bytes);
      }
      __syncwarp();
      rank += all;
    }
  }

  /// Whether the elements are dense, by aligned vectors.
  static __device__ bool can_pack(const B& p) {
    return p.stride(inputs + copied, 0) == static_cast<i64>(sizeof(Out)) &&
           p.address(inputs + copied) % 16 == 0 && p.address(out) % sizeof(Out) == 0;
  }

  /// The sum over the block of what every lane has; `before` is that of the warps before.
  static __device__ i64 sum_of_block(i64 own, shared_memory& shared, i64* before) {
    const i64 up_to = sum_of_lanes(own);
    if (lane() == 31) shared.sums[warp()] = up_to;
    __syncthreads();
    i64 all = 0;
    *before = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      if (w < warp()) *before += shared.sums[w];
      all += shared.sums[w];
    }
    __syncthreads();
    return all;
  }

  static __device__ void run(const B& p, const select_marks& marks) {
    __shared__ shared_memory shared;
    u32* const bits = marks.bits ? marks.bits : shared.bits;
    const bool rows = row_input >= 0 && marks.rows;
    const share mine(rows ? p.extent(0) : p.kept(), rows ? 1 : V, marks.words_of_warp);
    const bool is_last = blockIdx.x == gridDim.x - 1;
    i64 before_block = 0, before = 0, kept = 0;
    if (marks.pass != select_pass::second) {
      kept = mark(p, mine, bits, rows);
      __syncwarp();
    } else {
      i64 sum = 0;
      for (unsigned b = threadIdx.x; b < blockIdx.x; b += select_threads) sum += marks.counts[b];
      before_block = sum_of_block(sum, shared, &before);
      kept = counted(mine, bits);
    }
    const i64 all = sum_of_block(kept, shared, &before);
    if (marks.pass == select_pass::first) {
      if (threadIdx.x == 0) marks.counts[blockIdx.x] = all;
      return;
    }
    if (is_last && threadIdx.x == 0) {
      *p.template pointer<i64>(count) = (before_block + all) * (rows ? p.extent(R - 1) : 1);
    }
    if (p.address(out) == 0) return;
    auto& of_warp = shared.of_warp[warp()];
    if constexpr (packs) {
      if (can_pack(p)) {
        return pack_elements(
            p.template pointer<const Out>(inputs + copied), p.kept(), bits, mine.begin, mine.end,
            p.template pointer<Out>(out) + (before_block + before), of_warp.packed);
      }
    }
    if constexpr (row_input >= 0) {
      if (rows) return collect_rows(p, mine, bits, before_block + before, of_warp.places);
    }
    collect(p, mine, bits, before_block + before, of_warp.places);
  }
  using param_type = B;
};

/// With marks.rows there are two axes, along the last of which the mask is the same, and what is
/// selected is dense and aligned, with rows of at most select_row_bytes. Without, V > 1 requires
/// that inputs are dense along the last axis (bit k of Wide for input k), by aligned
/// vectors, or do not move along it, and with R > 1 that V divides its extent.
template <class M, int R, int IndexBytes, int V, unsigned Wide>
__global__ void __launch_bounds__(select_threads,
                                  (select_body<M, R, index_of<IndexBytes>, V, Wide>::blocks))
    select(const __grid_constant__
           typename select_body<M, R, index_of<IndexBytes>, V, Wide>::param_type p,
           const __grid_constant__ select_marks marks) {
  wait_for_stream();
  select_body<M, R, index_of<IndexBytes>, V, Wide>::run(p, marks);
}

}  // namespace quarry::kernels
