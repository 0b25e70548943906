// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/join_parts.hpp>
#include <quarry/kernels/node.hpp>

#include "kernels/params.cuh"
#include "kernels/stream_order.cuh"
#include "kernels/unaligned.cuh"

/// The kernel of joins whose rows have one word of each part, as the pixels of an image that is
/// stacked of its channels:
///   interleave   a thread reads 16 bytes of each part; a warp writes what its threads have
namespace quarry::kernels {

template <class M, int N>
struct interleave_body;

template <class T, int N>
struct interleave_body<join_of<T>, N> {
  using P = params<1, 0, 0>;
  static constexpr int V = 16 / sizeof(T), size = sizeof(T), threads = 256, warp = 32;
  using Vector = packed<T, V>;

  /// Vectors in shared memory. One place in nine is free, so that eight threads that access every
  /// second, fourth or eighth vector meet different banks.
  QUARRY_HD static constexpr int place_of(int vector) { return vector + vector / 8; }
  static constexpr int warp_places = place_of(warp * N);

  static __device__ const char* words_of(const join_parts& join, int k) {
    return reinterpret_cast<const char*>(join.part[k].data) + k * size;
  }
  static __device__ void load(const join_parts& join, i64 row, Vector (&in)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const char* const from = words_of(join, k) + row * size;
      const bool is_aligned = reinterpret_cast<u64>(from) % 16 == 0;
      in[k] = is_aligned ? *reinterpret_cast<const Vector*>(from) : read_part<T, V>(from, 0, 16);
    }
  }
  /// Vector `k` of the N that V rows have.
  static __device__ Vector interleaved(const Vector (&in)[N], int k) {
    constexpr int each = 4 / size;  // in 32 bits
    constexpr u32 mask = (u32{1} << 8 * size) - 1;
    Vector out;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      u32 word = 0;
#pragma unroll
      for (int e = 0; e < each; ++e) {
        const int i = (k * 4 + w) * each + e, row = i / N;
        const u32 from = in[i % N].word[row / each];
        word |= (from >> 8 * size * (row % each) & mask) << 8 * size * e;
      }
      out.word[w] = word;
    }
    return out;
  }

  static __device__ void run(const P& p, const join_parts& join) {
    alignas(16) __shared__ char shared[threads / warp * warp_places * 16];
    const i64 rows = join.axis[0].result.extent;
    const int lane = static_cast<int>(threadIdx.x) % warp, of_block = static_cast<int>(threadIdx.x);
    const i64 row = (static_cast<i64>(blockIdx.x) * threads + of_block) * V;
    const i64 of_warp = row - i64{lane} * V;
    char* const to = p.template pointer<char>(0);
    if (of_warp + warp * V > rows) {  // one by one, by at most one warp
      for (i64 r = row; r < rows && r < row + V; ++r) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
          reinterpret_cast<T*>(to)[r * N + k] = reinterpret_cast<const T*>(words_of(join, k))[r];
        }
      }
      return;
    }
    Vector in[N];
    load(join, row, in);
    auto* const places = reinterpret_cast<Vector*>(shared) + of_block / warp * warp_places;
#pragma unroll
    for (int k = 0; k < N; ++k) places[place_of(lane * N + k)] = interleaved(in, k);
    __syncwarp();
    auto* const vectors = reinterpret_cast<Vector*>(to + of_warp * N * size);
#pragma unroll
    for (int k = 0; k < N; ++k) vectors[k * warp + lane] = places[place_of(k * warp + lane)];
  }
  using param_type = P;
};

/// N parts of words of one or two bytes along one axis that is not shifted, dense and not filled.
/// The result is aligned to 16 bytes, a part to its words.
template <class M, int N>
__global__ void __launch_bounds__(256)
    interleave(const __grid_constant__ typename interleave_body<M, N>::param_type p,
               const __grid_constant__ join_parts parts) {
  wait_for_stream();
  interleave_body<M, N>::run(p, parts);
}

}  // namespace quarry::kernels
