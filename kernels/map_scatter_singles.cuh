// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "kernels/map_scatter.cuh"

/// Maps along one axis, whose output is a side operand that does not move along it: the place of
/// each element is computed.
namespace quarry::kernels {

template <class M, int V, unsigned Wide>
struct map_scatter_singles_body;

template <class E, class T, int First, int Axes, int S, class... In, int V, unsigned Wide>
struct map_scatter_singles_body<map_of<E, side<T, First, Axes>, S, In...>, V, Wide> {
  using P = params<1 + static_cast<int>(sizeof...(In)), S, 1>;
  using Inputs = loaded<V, Wide, 0, In...>;
  using Positions = row_positions<map_of<E, side<T, First, Axes>, S, In...>>;
  static constexpr int vectors = scatter_vectors;

  static __device__ void load(const P& p, i64 i, i64 n, Inputs& in) {
    load_along<V>(p, i, n, in, [&](char** at) { in.load_once(at); });
  }
  /// Looks at the positions of a block, of which a thread has some from element `first` on.
  static __device__ void check(const P& p, const Inputs (&in_flight)[vectors], i64 first, i64 apart,
                               i64 n, i64* word) {
    const i64 extent = p.template scalar<side_axis>(Positions::axis).extent;
    bool has_outside = false;
#pragma unroll
    for (int j = 0; j < vectors * V; ++j) {
      const i64 i = first + j / V * apart + j % V;
      const lane_context<P, V, Wide, In...> here{p, in_flight[j / V], i, j % V};
      const i64 at = in<typename Positions::type, Positions::operand - 1>{}(here);
      has_outside = has_outside || (i < n && is_outside(at, extent));
    }
    const bool has_found = __ballot_sync(0xffffffffu, has_outside) != 0;
    if (has_found && threadIdx.x % 32 == 0)
      atomicAdd(reinterpret_cast<u32*>(p.reduced()), found_outside);
    __syncthreads();
    if (threadIdx.x == 0) count_checked(p, checked_part, gridDim.x, word);
  }
  /// A thread has `vectors` vectors, as far apart as its block has threads. If the map checks its
  /// positions, what that finds goes to `word`, too.
  static __device__ void run(const P& p, [[maybe_unused]] i64* word) {
    const i64 n = p.kept(), apart = static_cast<i64>(blockDim.x) * V;
    const i64 first = static_cast<i64>(blockIdx.x) * vectors * apart + threadIdx.x * V;
    const i64 found = found_by_check<side<T, First, Axes>>(p);
    Inputs in[vectors];
#pragma unroll
    for (int u = 0; u < vectors; ++u) load(p, first + u * apart, n, in[u]);
    loads_are_above();
    if constexpr (Positions::operand > 0) {
      if (checks_itself(p)) check(p, in, first, apart, n, word);
    }
    if (found != 0) return;
    char* const to = p.template pointer<char>(0);
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        const i64 i = first + u * apart + lane;
        const lane_context<P, V, Wide, In...> here{p, in[u], i, lane};
        if (i >= n || !E::is_written(here)) continue;
        combine_at<E>(reinterpret_cast<T*>(to + E::offset(here)), convert<T>(E::value(here)),
                      reinterpret_cast<T*>(to));
      }
    }
  }
  using param_type = P;
};

/// V > 1 requires that inputs are dense (bit k of Wide for input k), by aligned vectors, or have
/// the stride 0.
template <class M, int V, unsigned Wide>
__global__ void __launch_bounds__(256)
    map_scatter_singles(const __grid_constant__
                        typename map_scatter_singles_body<M, V, Wide>::param_type p,
                        i64* word) {
  wait_for_stream();
  map_scatter_singles_body<M, V, Wide>::run(p, word);
}

}  // namespace quarry::kernels
