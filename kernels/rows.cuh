// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/row_programs.hpp>

#include "kernels/params.cuh"
#include "kernels/total.cuh"
#include "kernels/vector.cuh"

/// Row programs: every element of a row from itself and what the whole row has given.
///   rows          a block has whole rows; it reads them once if they fit in its registers
///   rows_partial  a block folds a part of its rows
///   rows_apply    combines the partial results of a row, and computes a part of it
namespace quarry::kernels {

/// The context of a program's expression: an element, and what its row has given.
template <class T, class Total>
struct row_element {
  T value;
  const Total& total;
  template <class U, int I>
  __device__ U row() const {
    if constexpr (I == 0)
      return convert<U>(value);
    else if constexpr (I == 1)
      return total.first;
    else
      return total.second;
  }
};

template <class M, int Rk, class Index, int Along, int V, unsigned Wide>
struct rows_body;

/// An access is V elements: with Along of one row, whose accesses consecutive threads share; else
/// of V rows, and consecutive threads have consecutive rows, whose elements blockDim.y threads
/// share. The axes of the call are those of the rows' places, then that of their elements.
template <class E, class Program, class Out, int S, class... In, int Rk, class Index, int Along,
          int V, unsigned Wide>
struct rows_body<rows_of<E, Program, Out, S, In...>, Rk, Index, Along, V, Wide> {
  using R = typename Program::reducer;
  using Acc = typename Program::accumulator;
  using Total = typename Program::total;
  static constexpr int K = sizeof...(In) + 1, axis = Rk, threads = 512;
  static constexpr int rows = Along ? 1 : V, width = Along ? V : 1;  // of an access
  static constexpr int unroll = V > 4 ? 2 : V > 1 ? 4 : 8;  // accesses in flight of a thread
  using P = params<K, S, Rk + 1>;
  using Loaded = loaded<V, Wide, 0, In...>;
  using Lane = lane_context<P, V, Wide, In...>;
  using T = typename value_of<Acc>::type;
  using Element = typename Program::template element<row_value<T, 0>, row_value<T, 1>,
                                                     row_value<typename Program::second, 2>>;

  struct Values {
    T of[V];
  };

  /// The rows of a thread and its share of them.
  struct Share {
    i64 row;  // the first one
    lane_of me;
    int slot;  // among the rows of the block
    Index from[K], step[K];

    __device__ explicit Share(const P& p) {
      const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
      const int bx = static_cast<int>(blockDim.x), by = static_cast<int>(blockDim.y);
      if constexpr (Along) {
        me = {x, bx, 1};
        slot = y;
        row = blockIdx.x * static_cast<i64>(by) + y;
      } else {
        me = {y, by, bx};
        slot = x * V;
        row = (blockIdx.x * static_cast<i64>(bx) + x) * V;
      }
#pragma unroll
      for (int k = 0; k < K; ++k) {
        from[k] = 0;
        step[k] = static_cast<Index>(p.stride(k, axis) * width);
      }
      if (is_inside(p)) seek(p);
    }
    __device__ bool is_inside(const P& p) const { return row < p.kept(); }
    __device__ void seek(const P& p) {
      Index i = static_cast<Index>(row);
#pragma unroll
      for (int d = Rk - 1; d >= 0; --d) {
        const Index extent = static_cast<Index>(p.extent(d)),
                    next = d > 0 ? quotient(i, extent) : 0;
        const Index j = i - next * extent;
        i = next;
#pragma unroll
        for (int k = 0; k < K; ++k) from[k] += j * static_cast<Index>(p.stride(k, d));
      }
    }
  };

  static __device__ Loaded load(const P& p, const Share& share, Index access) {
    const char* at[K];
#pragma unroll
    for (int k = 1; k < K; ++k) {
      at[k - 1] = p.template pointer<const char>(k) + (share.from[k] + access * share.step[k]);
    }
    Loaded in;
    in.load(at);
    return in;
  }

  static __device__ Values values(const P& p, const Loaded& in, i64 access) {
    Values v;
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      const i64 position = Along ? access * V + lane : access;
      v.of[lane] = convert<T>(E{}(Lane{p, in, position, lane}));
    }
    return v;
  }

  /// `Count` accesses at once into the accumulators of the thread's rows.
  template <int Count>
  static __device__ void take(Acc* acc, const Values* v) {
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      T batch[Count * width];
#pragma unroll
      for (int n = 0; n < Count * width; ++n) {
        batch[n] = v[n / width].of[Along ? n % width : j];
      }
      R::take_all(acc[j], batch, 0);
    }
  }

  static __device__ void store(const P& p, const Share& share, Index access, const Values& v,
                               const Total* total) {
    vec<Out, V> out;
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      const row_element<T, Total> c{v.of[lane], total[Along ? 0 : lane]};
      out.v[lane] = convert<Out>(Element{}(c));
    }
    char* const to = p.template pointer<char>(0) + (share.from[0] + access * share.step[0]);
    *reinterpret_cast<vec<Out, V>*>(to) = out;
  }

  static __device__ void start(Acc* acc) {
#pragma unroll
    for (int j = 0; j < rows; ++j) acc[j] = R::template identity<Acc>();
  }

  /// What the lanes of a row have found, valid in the first of them.
  static __device__ Acc combined(const Acc& acc, const lane_of& me) {
    alignas(16) __shared__ char storage[(Along ? threads / 32 : threads) * sizeof(Acc)];
    if constexpr (Along) return total_along<R>(reinterpret_cast<Acc*>(storage), acc);
    Acc all[] = {acc};
    total_of_lanes<R>(reinterpret_cast<Acc*>(storage), all, me);
    return all[0];
  }
  /// What the thread's rows have given, from what their lanes have found. Called by all threads.
  static __device__ void spread(const P& p, const Share& share, const Acc* acc, Total* total) {
    alignas(16) __shared__ char storage[threads * rows * sizeof(Total)];
    Total* const shared = reinterpret_cast<Total*>(storage);
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const Acc all = combined(acc[j], share.me);
      if (share.me.lane == 0) shared[share.slot + j] = Program::of(all, block_total<P>{p});
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < rows; ++j) total[j] = shared[share.slot + j];
  }

  /// The accesses [begin, end) of the rows, a lane's share of them.
  static __device__ void fold(const P& p, const Share& share, Index begin, Index end, Acc* acc) {
    const Index step = share.me.lanes;
    Index a = begin + share.me.lane;
#pragma unroll 1
    for (; a + (unroll - 1) * step < end; a += unroll * step) {
      Loaded in[unroll];
      Values v[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) in[u] = load(p, share, a + u * step);
#pragma unroll
      for (int u = 0; u < unroll; ++u) v[u] = values(p, in[u], a + u * step);
      take<unroll>(acc, v);
    }
#pragma unroll 1
    for (; a < end; a += step) {
      const Values v = values(p, load(p, share, a), a);
      take<1>(acc, &v);
    }
  }
  static __device__ void apply(const P& p, const Share& share, Index begin, Index end,
                               const Total* total) {
    const Index step = share.me.lanes;
    Index a = begin + share.me.lane;
#pragma unroll 1
    for (; a + (unroll - 1) * step < end; a += unroll * step) {
      Loaded in[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) in[u] = load(p, share, a + u * step);
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        store(p, share, a + u * step, values(p, in[u], a + u * step), total);
      }
    }
#pragma unroll 1
    for (; a < end; a += step) store(p, share, a, values(p, load(p, share, a), a), total);
  }

  /// Rows whose lanes have `Count` accesses each, of which the last ones may not be there.
  template <int Count>
  static __device__ void run_kept(const P& p) {
    const Share share(p);
    const Index step = share.me.lanes, first = share.me.lane, all = accesses(p);
    const bool is_inside = share.is_inside(p);
    const bool has_last = is_inside && first + (Count - 1) * step < all;
    Values v[Count];
    Acc acc[rows];
    start(acc);
    if (is_inside) {
      Loaded in[Count];
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (u < Count - 1 || has_last) in[u] = load(p, share, first + u * step);
      }
#pragma unroll
      for (int u = 0; u < Count; ++u) {
        if (u < Count - 1 || has_last) v[u] = values(p, in[u], first + u * step);
      }
      if constexpr (Count > 1) take<Count - 1>(acc, v);
      if (has_last) take<1>(acc, v + (Count - 1));
    }
    Total total[rows];
    spread(p, share, acc, total);
    if (!is_inside) return;
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      if (u < Count - 1 || has_last) store(p, share, first + u * step, v[u], total);
    }
  }
  /// Rows that are read twice.
  static __device__ void run_long(const P& p) {
    const Share share(p);
    Acc acc[rows];
    Total total[rows];
    start(acc);
    if (share.is_inside(p)) fold(p, share, 0, accesses(p), acc);
    spread(p, share, acc, total);
    if (share.is_inside(p)) apply(p, share, 0, accesses(p), total);
  }

  static __device__ Index accesses(const P& p) { return static_cast<Index>(p.reduced() / width); }
  /// Those of a split of the rows.
  static __device__ Index begin_of(const P& p) {
    return static_cast<Index>(blockIdx.y * p.chunk() / width);
  }
  static __device__ Index end_of(const P& p) {
    const i64 end = (blockIdx.y + 1) * p.chunk();
    return static_cast<Index>((end < p.reduced() ? end : p.reduced()) / width);
  }
  /// Partial results are [split][row].
  static __device__ void run_partial(const P& p, Acc* partial) {
    const Share share(p);
    Acc acc[rows];
    start(acc);
    if (share.is_inside(p)) fold(p, share, begin_of(p), end_of(p), acc);
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const Acc all = combined(acc[j], share.me);
      if (share.me.lane == 0 && share.is_inside(p)) {
        partial[blockIdx.y * p.kept() + share.row + j] = all;
      }
    }
  }
  static __device__ void run_apply(const P& p, const Acc* partial) {
    const Share share(p);
    Acc acc[rows];
    Total total[rows];
    start(acc);
    if (share.is_inside(p)) {
      for (i64 s = share.me.lane; s < gridDim.y; s += share.me.lanes) {
#pragma unroll
        for (int j = 0; j < rows; ++j) {
          acc[j] = R::combine(acc[j], partial[s * p.kept() + share.row + j]);
        }
      }
    }
    spread(p, share, acc, total);
    if (share.is_inside(p)) apply(p, share, begin_of(p), end_of(p), total);
  }
  using param_type = P;
};

template <class M, int Rk, int IndexBytes, int Along, int V, unsigned Wide>
using rows_params = typename rows_body<M, Rk, index_of<IndexBytes>, Along, V, Wide>::param_type;

/// A block has at most 512 threads; with Along blockDim.x is a power of two. V > 1 is for operands
/// with aligned vectors along the axis of an access: the output, and inputs that have the stride 0
/// there or a bit in Wide. Count is how many accesses of a row its first lane has, at most one more
/// than any other; or 0, for rows that are read twice.
template <class M, int Rk, int IndexBytes, int Along, int V, unsigned Wide, int Count>
__global__ void __launch_bounds__(512)
    rows(const __grid_constant__ rows_params<M, Rk, IndexBytes, Along, V, Wide> p) {
  using Body = rows_body<M, Rk, index_of<IndexBytes>, Along, V, Wide>;
  if constexpr (Count > 0)
    Body::template run_kept<Count>(p);
  else
    Body::run_long(p);
}

/// gridDim.y splits the rows, into `chunk` elements each, which are whole accesses.
template <class M, int Rk, int IndexBytes, int Along, int V, unsigned Wide>
__global__ void __launch_bounds__(512)
    rows_partial(const __grid_constant__ rows_params<M, Rk, IndexBytes, Along, V, Wide> p,
                 void* partial) {
  using Body = rows_body<M, Rk, index_of<IndexBytes>, Along, V, Wide>;
  Body::run_partial(p, static_cast<typename Body::Acc*>(partial));
}

/// With the grid of rows_partial.
template <class M, int Rk, int IndexBytes, int Along, int V, unsigned Wide>
__global__ void __launch_bounds__(512)
    rows_apply(const __grid_constant__ rows_params<M, Rk, IndexBytes, Along, V, Wide> p,
               const void* partial) {
  using Body = rows_body<M, Rk, index_of<IndexBytes>, Along, V, Wide>;
  Body::run_apply(p, static_cast<const typename Body::Acc*>(partial));
}

}  // namespace quarry::kernels
