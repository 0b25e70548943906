// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/access.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/picks.hpp>

/// What a thread has loaded and computed: V consecutive elements of every operand, in one access
/// each; of some inputs every second one of 2 V elements.
namespace quarry::kernels {

/// The compiler moves none of the loads above this behind it. Where there are branches between
/// loads and their use it would, and few of them would be in flight together.
__device__ inline void loads_are_above() {
#ifdef __CUDA_ARCH__
  asm volatile("" ::: "memory");
#endif
}

/// Of a power of two of elements they are aligned to all of their bytes, otherwise to the largest
/// power of two up to 16 that these are a multiple of.
template <class T, int V>
struct alignas(V == 1 ? alignof(T) : vector_alignment(sizeof(T) * V)) vec {
  T v[V];
};

/// Whether an expression calls a user function. That may not return for a value that no element
/// has, so it is not computed for lanes that an array does not have.
template <class E>
inline constexpr bool calls_user_functions = false;
template <template <class...> class Node, class... A>
inline constexpr bool calls_user_functions<Node<A...>> = (calls_user_functions<A> || ...);
template <class F, class... A>
inline constexpr bool calls_user_functions<call<F, A...>> = true;
template <index_mode Mode, int S, class I>
inline constexpr bool calls_user_functions<place<Mode, S, I>> = calls_user_functions<I>;
template <class T, int K, class... Places>
inline constexpr bool calls_user_functions<pick<T, K, Places...>> = (calls_user_functions<Places> ||
                                                                     ...);

#ifdef __CUDA_ARCH__
template <class V, class Word>
__device__ V as_vector(const Word& word) {
  V v;
  static_assert(sizeof v == sizeof word);
  memcpy(static_cast<void*>(&v), &word, sizeof v);
  return v;
}
#endif
/// What is not read again soon: the L2 cache keeps other memory in its place.
template <class V>
__device__ V load_once(const V* at) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(V) == 16) return as_vector<V>(__ldcs(reinterpret_cast<const uint4*>(at)));
  if constexpr (sizeof(V) == 8) return as_vector<V>(__ldcs(reinterpret_cast<const uint2*>(at)));
  if constexpr (sizeof(V) == 4) return as_vector<V>(__ldcs(reinterpret_cast<const u32*>(at)));
#endif
  return *at;
}

/// Has the L2 cache read a line.
__device__ inline void prefetch([[maybe_unused]] const void* at) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

/// The number of the lowest bit that is set.
inline __device__ int lowest_bit(u32 word) { return static_cast<int>(__popc(~word & (word - 1))); }

/// Words of 32 bits, of which the elements of an access are parts.
template <u64 Size, u64 Alignment = Size>
struct alignas(Alignment) aligned_words {
  u32 word[Size / 4];
};

/// One base class per input, which is accessed as input_access says.
template <int V, unsigned Wide, int K, class... In>
struct loaded {
  __device__ void load(const char* const* /*at*/) {}
  __device__ void load_once(const char* const* /*at*/) {}
  __device__ void load_part(const char* const* /*at*/, int /*count*/) {}
};
template <int V, unsigned Wide, int K, class T, class... Rest>
struct loaded<V, Wide, K, T, Rest...> : loaded<V, Wide, K + 1, Rest...> {
  static constexpr input_access access = input_access::of(Wide, K);
  static constexpr int gap = access.has_gaps ? 2 : 1, read = access.is_wide ? V * gap : 1;
  vec<T, read> r;
  __device__ void load(const char* const* at) {
    if constexpr (sizeof(T) == 1 &&
                  alignof(vec<T, read>) >= 4) {  // whole words can be computed with
      const auto words =
          *reinterpret_cast<const aligned_words<sizeof(r), alignof(vec<T, read>)>*>(at[K]);
      memcpy(static_cast<void*>(&r), &words, sizeof(r));
    } else {
      r = *reinterpret_cast<const vec<T, read>*>(at[K]);
    }
    loaded<V, Wide, K + 1, Rest...>::load(at);
  }
  __device__ void load_once(const char* const* at) {
    r = kernels::load_once(reinterpret_cast<const vec<T, read>*>(at[K]));
    loaded<V, Wide, K + 1, Rest...>::load_once(at);
  }
  /// The first `count` lanes only, one by one.
  __device__ void load_part(const char* const* at, int count) {
#pragma unroll
    for (int i = 0; i < read; ++i) {
      if (i < count * gap)
        *(reinterpret_cast<vec<T, 1>*>(&r) + i) = reinterpret_cast<const vec<T, 1>*>(at[K])[i];
    }
    loaded<V, Wide, K + 1, Rest...>::load_part(at, count);
  }
  __device__ T get(int lane) const { return kernels::load<T>(&r.v[read == 1 ? 0 : lane * gap]); }
};
/// Nothing of a side operand is loaded before the position is known.
template <int V, unsigned Wide, int K, class T, int First, int Axes, class... Rest>
struct loaded<V, Wide, K, side<T, First, Axes>, Rest...> : loaded<V, Wide, K + 1, Rest...> {
  static constexpr input_access access = input_access::of(Wide, K);
  static constexpr int step = access.is_wide ? sizeof(T) * (access.has_gaps ? 2 : 1) : 0;
  static constexpr int unit = V > 1 && step > 0 ? V* step : alignof(T);
  const char* from;
  __device__ void load_once(const char* const* at) {
    from = at[K];
    loaded<V, Wide, K + 1, Rest...>::load_once(at);
  }
  __device__ void load(const char* const* at) {
    from = at[K];
    loaded<V, Wide, K + 1, Rest...>::load(at);
  }
  __device__ void load_part(const char* const* at, int count) {
    from = at[K];
    loaded<V, Wide, K + 1, Rest...>::load_part(at, count);
  }
  /// Lanes with one offset are loaded together, since the compiler knows that they are a vector.
  __device__ T get_at(int lane, i64 offset) const {
    const void* const first = __builtin_assume_aligned(from + offset, unit);
    return kernels::load<T>(static_cast<const char*>(first) + lane * step);
  }
};
template <int K, int V, unsigned Wide, class T, class... Rest>
__device__ T loaded_at(const loaded<V, Wide, K, T, Rest...>& l, int lane) {
  return l.get(lane);
}
template <int K, int V, unsigned Wide, class T, int First, int Axes, class... Rest>
__device__ T side_at(const loaded<V, Wide, K, side<T, First, Axes>, Rest...>& l, int lane,
                     i64 offset) {
  return l.get_at(lane, offset);
}

/// The context (node.hpp) of one lane of the vectors.
template <class P, int V, unsigned Wide, class... In>
struct lane_context {
  const P& p;
  const loaded<V, Wide, 0, In...>& in;
  i64 position;
  int lane;
  template <class T, int K>
  __device__ T input() const {
    return loaded_at<K>(in, lane);
  }
  template <class T, int K>
  __device__ T input_at(i64 offset) const {
    return side_at<K>(in, lane, offset);
  }
  template <class T, int S>
  __device__ T scalar() const {
    return p.template scalar<T>(S);
  }
  __device__ i64 index() const { return position; }
};

/// Stores the lanes of a vector from `begin` on before `end`, one by one. They are the bits of one
/// number, from which one instruction makes the predicates of several stores.
template <class T, int V>
__device__ void store_lanes(const char* lanes, int begin, int end, char* to) {
  const u32 from = begin < 0 ? 0 : static_cast<u32>(begin);
  const u32 past = end < 0 ? 0 : static_cast<u32>(end < V ? end : V);
  const u32 kept = ((u32{1} << past) - 1) >> from << from;
#pragma unroll
  for (int lane = 0; lane < V; ++lane) {
    if ((kept >> lane & 1) == 0) continue;
    reinterpret_cast<vec<T, 1>*>(to)[lane] = reinterpret_cast<const vec<T, 1>*>(lanes)[lane];
  }
}

/// V consecutive elements of every output.
template <int V, class E, class Out>
struct computed {
  static constexpr int width = V;
  vec<Out, V> v;
  template <class C>
  __device__ void set(int lane, const C& c) {
    v.v[lane] = convert<Out>(E{}(c));
  }
  __device__ void store(char* const* at) const { *reinterpret_cast<vec<Out, V>*>(at[0]) = v; }
  /// Stores the lanes from `begin` on before `end`.
  __device__ void store_part(int begin, int end, char* const* at) const {
    store_lanes<Out, V>(reinterpret_cast<const char*>(&v), begin, end, at[0]);
  }
};
/// Lanes that are not kept stay what they are. One that is kept alone is stored alone, unless most
/// around it are; of a vector with several the others are stored as they were read: the memory
/// reads what is around a single element, too, and takes as long for each of them as for the
/// vector.
template <int V, class P, class E, class Out>
struct computed<V, guarded<P, E>, Out> {
  static constexpr int width = V;
  static constexpr u32 all = (u32{1} << V) - 1;
  vec<Out, V> v, before;
  vec<Out, 1> last;  ///< of the lanes that are kept
  u32 kept = 0;
  /// Elements at computed places are read for all lanes, so that the reads are in flight together:
  /// there is one at every place.
  static constexpr bool reads_all = picks_in<E> > 0 && !calls_user_functions<E>;
  template <class C>
  __device__ void set(int lane, const C& c) {
    const bool is_kept = P{}(c);
    if (!is_kept && !reads_all) return;
    vec<Out, 1> value;
    value.v[0] = convert<Out>(E{}(c));
    *lane_of(v, lane) = value;
    if (!is_kept) return;
    kept |= u32{1} << lane;
    last = value;
  }
  bool are_most = false;  ///< kept, of those of the warp: see compare()
  __device__ bool is_by_vector() const {
    return (kept & (kept - 1)) != 0 || (are_most && kept != 0);
  }
  __device__ void store(char* const* at) {
    if (is_by_vector()) {
#pragma unroll
      for (int lane = 0; lane < V; ++lane) {
        if ((kept >> lane & 1) == 0) *lane_of(v, lane) = *lane_of(before, lane);
      }
      *reinterpret_cast<vec<Out, V>*>(at[0]) = v;
    } else if (kept != 0) {
      reinterpret_cast<vec<Out, 1>*>(at[0])[__popc(kept - 1)] = last;
    }
  }
  /// These one by one: of the others some may be outside of the operand.
  __device__ void store_part(int begin, int end, char* const* at) const {
#pragma unroll
    for (int lane = 0; lane < V; ++lane) {
      if (lane < begin || lane >= end || (kept >> lane & 1) == 0) continue;
      reinterpret_cast<Out*>(at[0])[lane] = v.v[lane];
    }
  }
  static __device__ vec<Out, 1>* lane_of(vec<Out, V>& lanes, int lane) {
    return reinterpret_cast<vec<Out, 1>*>(&lanes) + lane;
  }
};
/// Says of the vectors of a whole warp whether half of their lanes or more are kept. Accesses of
/// both kinds to a sector would take longer than those of either.
template <class Computed, int N>
__device__ void compare(Computed (&/*out*/)[N]) {}
template <int V, class P, class E, class Out, int N>
__device__ void compare(computed<V, guarded<P, E>, Out> (&out)[N]) {
  int kept = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) kept += static_cast<int>(__popc(out[k].kept));
  const bool are_most = __popc(__ballot_sync(0xffffffffu, 2 * kept >= V * N)) > 16;
#pragma unroll
  for (int k = 0; k < N; ++k) out[k].are_most = are_most;
}
/// Reads what store() needs of the output: of all vectors of a thread before the first is stored.
template <class Computed>
__device__ void fetch(Computed& /*out*/, char* const* /*at*/) {}
template <int V, class P, class E, class Out>
__device__ void fetch(computed<V, guarded<P, E>, Out>& out, char* const* at) {
  if (out.is_by_vector() && out.kept != out.all) {
    out.before = *reinterpret_cast<const vec<Out, V>*>(at[0]);
  }
}

template <int V>
struct computed<V, several<>, several<>> {
  template <class C>
  __device__ void set(int /*lane*/, const C& /*c*/) {}
  __device__ void store(char* const* /*at*/) const {}
  __device__ void store_part(int /*begin*/, int /*end*/, char* const* /*at*/) const {}
};
template <int V, class E, class... Es, class Out, class... Outs>
struct computed<V, several<E, Es...>, several<Out, Outs...>> {
  static constexpr int width = V;
  computed<V, E, Out> first;
  computed<V, several<Es...>, several<Outs...>> rest;
  template <class C>
  __device__ void set(int lane, const C& c) {
    first.set(lane, c);
    rest.set(lane, c);
  }
  __device__ void store(char* const* at) const {
    first.store(at);
    rest.store(at + 1);
  }
  __device__ void store_part(int begin, int end, char* const* at) const {
    first.store_part(begin, end, at);
    rest.store_part(begin, end, at + 1);
  }
};

}  // namespace quarry::kernels
