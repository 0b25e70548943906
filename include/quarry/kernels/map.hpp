// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/params.hpp>

/// out[i] = E(in[i]...), moving every operand once. The expression is a type, the layout is data:
///   map_flat     all operands dense and in one order: vectors of V elements, one vector a thread
///   map_strided  any layout of any rank: threads run along the innermost axis, rows are decoded once
#ifdef __CUDACC__
namespace quarry::kernels {

template <class T, int V>
struct alignas(sizeof(T) * V) vec {
  T v[V];
};

/// The vectors one thread has loaded, one base class an input.
template <int V, int K, class... In>
struct loaded {
  __device__ loaded(const void* const*, i64) {}
};
template <int V, int K, class T, class... Rest>
struct loaded<V, K, T, Rest...> : loaded<V, K + 1, Rest...> {
  vec<T, V> r;
  __device__ loaded(const void* const* p, i64 i)
      : loaded<V, K + 1, Rest...>(p, i), r(static_cast<const vec<T, V>*>(p[K])[i]) {}
};
template <int K, int V, class T, class... Rest>
__device__ const vec<T, V>& loaded_at(const loaded<V, K, T, Rest...>& l) {
  return l.r;
}

template <class P, int V, class... In>
struct flat_context {
  const P& p;
  const loaded<V, 0, In...>& in;
  i64 first;
  int lane;
  template <class T, int K>
  __device__ T input() const {
    return load<T>(&loaded_at<K>(in).v[lane]);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
  __device__ i64 index() const { return first + lane; }
};

template <class P>
struct element_context {
  const P& p;
  i64 i;
  template <class T, int K>
  __device__ T input() const {
    return load<T>(p.template pointer<const T>(K + 1) + i);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
  __device__ i64 index() const { return i; }
};

template <class M, int V>
struct map_flat_body;

template <class E, class Out, int S, class... In, int V>
struct map_flat_body<map_of<E, Out, S, In...>, V> {
  using P = params<sizeof...(In) + 1, S, 0>;
  static __device__ void run(const P& p) {
    const i64 n = static_cast<i64>(p.word[0]);
    const i64 i = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x, first = i * V;
    if (first + V <= n) {
      const void* at[sizeof...(In) + 1];
#pragma unroll
      for (int k = 0; k < static_cast<int>(sizeof...(In)); ++k) {
        at[k] = p.template pointer<const void>(k + 1);
      }
      const loaded<V, 0, In...> in(at, i);
      vec<Out, V> out;
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        out.v[lane] = convert<Out>(E{}(flat_context<P, V, In...>{p, in, first, lane}));
      }
      p.template pointer<vec<Out, V>>(0)[i] = out;
    } else {
      for (i64 j = first; j < n; ++j) {
        p.template pointer<Out>(0)[j] = convert<Out>(E{}(element_context<P>{p, j}));
      }
    }
  }
  using param_type = P;
};

/// V * sizeof of the widest operand is at most 16 bytes; every pointer is aligned to V elements.
template <class M, int V>
__global__ void __launch_bounds__(256)
    map_flat(const __grid_constant__ typename map_flat_body<M, V>::param_type p) {
  map_flat_body<M, V>::run(p);
}

/// Byte offsets of all operands at one element.
template <class P, class Index, int K>
struct strided_context {
  const P& p;
  Index offset[K];
  i64 linear;
  template <class T, int J>
  __device__ T input() const {
    return load<T>(p.template pointer<const char>(J + 1) + offset[J + 1]);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
  __device__ i64 index() const { return linear; }
};

template <class M, int R, class Index, int Rows>
struct map_strided_body;

template <class E, class Out, int S, class... In, int R, class Index, int Rows>
struct map_strided_body<map_of<E, Out, S, In...>, R, Index, Rows> {
  static constexpr int K = sizeof...(In) + 1;
  using P = params<K, S, R>;
  using Context = strided_context<P, Index, K>;

  static __device__ Context at(const P& p, i64 row, Index column) {
    Context c{p, {}, row * p.extent(R - 1) + column};
#pragma unroll
    for (int k = 0; k < K; ++k) c.offset[k] = column * static_cast<Index>(p.stride(k, R - 1));
    Index rest = static_cast<Index>(row);
#pragma unroll
    for (int d = R - 2; d >= 0; --d) {
      const Index extent = static_cast<Index>(p.extent(d)), next = d ? rest / extent : 0;
      const Index j = d ? rest - next * extent : rest;
      rest = next;
#pragma unroll
      for (int k = 0; k < K; ++k) c.offset[k] += j * static_cast<Index>(p.stride(k, d));
    }
    return c;
  }

  /// A block covers blockDim.x columns and Rows * blockDim.y rows; all loads of a thread come before its
  /// stores, so that they are in flight together.
  static __device__ void run(const P& p) {
    const i64 columns = p.extent(R - 1), rows = static_cast<i64>(p.word[0]) / columns;
    const i64 column = blockIdx.x * static_cast<i64>(blockDim.x) + threadIdx.x;
    if (column >= columns) return;
    const i64 step = static_cast<i64>(gridDim.y) * blockDim.y * Rows;
    for (i64 row = (static_cast<i64>(blockIdx.y) * Rows) * blockDim.y + threadIdx.y; row < rows;
         row += step) {
      Out value[Rows];
      Index to[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const i64 mine = row + static_cast<i64>(r) * blockDim.y;
        if (mine < rows) {
          const Context c = at(p, mine, static_cast<Index>(column));
          value[r] = convert<Out>(E{}(c));
          to[r] = c.offset[0];
        }
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (row + static_cast<i64>(r) * blockDim.y < rows) {
          *reinterpret_cast<Out*>(p.template pointer<char>(0) + to[r]) = value[r];
        }
      }
    }
  }
  using param_type = P;
};

template <class M, int R, class Index, int Rows>
__global__ void __launch_bounds__(256)
    map_strided(const __grid_constant__ typename map_strided_body<M, R, Index, Rows>::param_type p) {
  map_strided_body<M, R, Index, Rows>::run(p);
}

}  // namespace quarry::kernels
#else  // the CPU device
#ifdef __clang__
#define QUARRY_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define QUARRY_IVDEP _Pragma("GCC ivdep")
#endif
namespace quarry::kernels {

template <class... In>
struct dense_context {
  char* const* pointer;
  const u64* scalars;
  i64 i, first;
  template <class T, int K>
  T input() const {
    return load<T>(reinterpret_cast<const T*>(pointer[K + 1]) + i);
  }
  template <class T, int S>
  T scalar() const {
    return *reinterpret_cast<const T*>(scalars + 2 * S);
  }
  i64 index() const { return first + i; }
};

struct run_context {
  char* const* pointer;
  const i64* stride;
  const u64* scalars;
  i64 i, first;
  template <class T, int K>
  T input() const {
    return load<T>(pointer[K + 1] + i * stride[K + 1]);
  }
  template <class T, int S>
  T scalar() const {
    return *reinterpret_cast<const T*>(scalars + 2 * S);
  }
  i64 index() const { return first + i; }
};

/// One run of `n` elements: operand k starts at pointer[k] and advances by stride[k] bytes; `first` is the
/// C-order position of the first element. Operands do not overlap but element by element.
using map_loop = void (*)(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);

template <class M>
struct cpu_map;

template <class E, class Out, int S, class... In>
struct cpu_map<map_of<E, Out, S, In...>> {
  static bool dense(const i64* stride) {
    const i64 size[] = {sizeof(Out), sizeof(In)...};
    bool all = true;
    for (unsigned k = 0; k <= sizeof...(In); ++k) all &= stride[k] == size[k];
    return all;
  }
  static void run(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first) {
    i64 i = 0;
    if (dense(stride)) {
      Out* const out = reinterpret_cast<Out*>(pointer[0]);
      // a fixed count, so that -O2 turns the inner loop into vector instructions
      for (; i + 16 <= n; i += 16) {
        QUARRY_IVDEP
        for (i64 j = i; j < i + 16; ++j) {
          out[j] = convert<Out>(E{}(dense_context<In...>{pointer, scalars, j, first}));
        }
      }
    }
    for (; i < n; ++i) {
      *reinterpret_cast<Out*>(pointer[0] + i * stride[0]) =
          convert<Out>(E{}(run_context{pointer, stride, scalars, i, first}));
    }
  }
};

}  // namespace quarry::kernels
#endif
