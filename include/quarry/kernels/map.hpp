// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/fixed.hpp>
#include <quarry/kernels/function_loops.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/program.hpp>
#include <quarry/kernels/scatter.hpp>
#include <quarry/kernels/wide_division.hpp>

/// Maps, out[i] = E(in[i]...), on the CPU; the kernels of GPUs are in kernels/map.cuh.
namespace quarry::kernels {

/// One run of `n` elements: operand k starts at pointer[k] and advances by stride[k] bytes; `first`
/// is the C-order position of the first element. An input may be an output, element for element;
/// else they do not overlap. The loops of `dense` are for whole blocks of elements, with vectors of
/// 32 and of 64 bytes where the processor has them: operands are dense, or have stride 0 and are
/// read again for every block. A program may have none.
struct map_loops {
  static constexpr i64 block = 64;
  using loop = void(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first);
  loop* run;
  loop* dense[2];
  int outputs, inputs;
  const u32* size;      ///< of an element of every operand
  const own_axes* own;  ///< of every operand
};

/// An element of every output: all are computed before one is stored.
template <class E, class Out>
struct element {
  Out value;
  template <class C>
  explicit element(const C& c) : value(convert<Out>(E{}(c))) {}
  void store_dense(char* const* pointer, i64 i) const {
    reinterpret_cast<Out*>(pointer[0])[i] = value;
  }
  void store(char* const* pointer, const i64* stride, i64 i) const {
    *reinterpret_cast<Out*>(pointer[0] + i * stride[0]) = value;
  }
};
template <>
struct element<several<>, several<>> {
  template <class C>
  explicit element(const C&) {}
  void store_dense(char* const*, i64) const {}
  void store(char* const*, const i64*, i64) const {}
};
template <class E, class... Es, class Out, class... Outs>
struct element<several<E, Es...>, several<Out, Outs...>> {
  element<E, Out> first;
  element<several<Es...>, several<Outs...>> rest;
  template <class C>
  explicit element(const C& c) : first(c), rest(c) {}
  void store_dense(char* const* pointer, i64 i) const {
    first.store_dense(pointer, i);
    rest.store_dense(pointer + 1, i);
  }
  void store(char* const* pointer, const i64* stride, i64 i) const {
    first.store(pointer, stride, i);
    rest.store(pointer + 1, stride + 1, i);
  }
};

template <class P, class E, class Out>
struct element<guarded<P, E>, Out> {
  Out value;
  bool kept;
  template <class C>
  explicit element(const C& c) : kept(P{}(c)) {
    if (kept) value = convert<Out>(E{}(c));
  }
  void store(char* const* pointer, const i64* stride, i64 i) const {
    if (kept) *reinterpret_cast<Out*>(pointer[0] + i * stride[0]) = value;
  }
};

template <class F, class V, class... Places>
struct users_of<into<F, V, Places...>> {
  static void collect(auto& add) {
    (users_of<V>::collect(add), ..., users_of<Places>::collect(add));
  }
};
template <class Owner, class Turns, class Into>
struct users_of<owned<Owner, Turns, Into>> : users_of<Into> {};

template <class V, class... Places>
inline constexpr place_test is_at_one_place<into<replaced, V, Places...>> =
    all_fixed<Places...>::in_run;
template <class Owner, class Turns, class Into>
inline constexpr place_test is_at_one_place<owned<Owner, Turns, Into>> = [](const i64* strides) {
  return fixed<Owner>::in_run(strides) && is_at_one_place<Into>(strides);
};

template <class V, class... Places>
inline constexpr single_access singles_of<into<replaced, V, Places...>> = single_access::replace;
template <class Owner, class Turns, class Into>
inline constexpr single_access singles_of<owned<Owner, Turns, Into>> = singles_of<Into>;
template <class V, class... Places>
inline constexpr single_access singles_of<into<marked, V, Places...>> = single_access::mark;

template <class E, class T, int First, int Axes>
struct element<E, side<T, First, Axes>> {
  bool is_written;
  i64 offset;
  T value;
  template <class C>
  explicit element(const C& c)
      : is_written(E::is_written(c)), offset(E::offset(c)), value(convert<T>(E::value(c))) {}
  void store(char* const* pointer, const i64* stride, i64 i) const {
    using F = typename E::meeting;
    auto* const at = reinterpret_cast<T*>(pointer[0] + i * stride[0] + offset);
    if (!is_written) return;
    if constexpr (is_same<F, replaced>) {
      *at = value;
    } else if constexpr (is_same<F, marked>) {
      F::apply(*at, value, *reinterpret_cast<T*>(pointer[0] + i * stride[0]));
    } else {
      *at = F::apply(*at, value);
    }
  }
};

/// A whole run at one place, where the values are elements of an operand: else returns false.
template <class E, class Out>
struct whole_run {
  static bool store(i64 n, char* to, i64 to_stride, const run_context& here) {
    return copied_run<E, Out>(n, to, to_stride, here);
  }
};
template <class V, class... Places, class T, int First, int Axes>
struct whole_run<into<replaced, V, Places...>, side<T, First, Axes>> {
  static bool store(i64 n, char* to, i64 to_stride, const run_context& here) {
    return is_at_one_place<into<replaced, V, Places...>>(here.stride) &&
           copied_run<V, T>(n, to + (Places{}(here) + ...), to_stride, here);
  }
};
template <class E, class T, int First, int Axes>
struct whole_run<E, side<T, First, Axes>> {
  static bool store(i64, char*, i64, const run_context&) { return false; }
};

/// Whether elements have parts side by side: of real and imaginary parts GCC makes fused
/// multiply-adds of AVX-512 all the same.
template <class T>
inline constexpr bool has_parts = is_complex<T> || is_record<T>;
template <class T, int First, int Axes>
inline constexpr bool has_parts<side<T, First, Axes>> = has_parts<T>;
template <class... T>
inline constexpr bool has_parts<several<T...>> = (has_parts<T> || ...);

/// Whether bytes are multiplied: vectors have no such instruction, and what GCC does instead is
/// slower with 64 bytes than with 32.
template <class E>
inline constexpr bool multiplies_bytes = false;
template <class F, class L, class... A>
inline constexpr bool multiplies_bytes<op<F, L, A...>> = (is_same<F, multiply_op> &&
                                                          sizeof(L) == 1 && !is_bool<L>) ||
                                                         (multiplies_bytes<A> || ...);
template <class T, class A>
inline constexpr bool multiplies_bytes<cast<T, A>> = multiplies_bytes<A>;
template <class... E>
inline constexpr bool multiplies_bytes<several<E...>> = (multiplies_bytes<E> || ...);

template <class M>
struct cpu_map;

QUARRY_LOOPS_BEGIN
template <class E, class Out, int S, class... In>
struct cpu_map<map_of<E, Out, S, In...>> {
  using Types = operands_of<Out, In...>;
  /// Those are never dense.
  static constexpr bool has_sides = is_side_operand<Out> || (is_side_operand<In> || ...);
  static void run(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first) {
    char* const* const inputs = pointer + Types::outputs;
    const i64* const steps = stride + Types::outputs;
    if constexpr (has_sides) {
      const run_context here{inputs, steps, scalars, 0, first};
      if (whole_run<E, Out>::store(n, pointer[0], stride[0], here)) return;
    }
    for (i64 i = 0; i < n; ++i) {
      element<E, Out>(run_context{inputs, steps, scalars, i, first}).store(pointer, stride, i);
    }
  }
  /// Of an expression that computes E. The addresses and the scalars are copied: a store of bytes
  /// might change the originals.
  template <class Computed>
  [[gnu::always_inline]] static inline void blocks(i64 n, char* const* pointer, const i64* stride,
                                                   const u64* scalars, i64 first) {
    char* at[Types::count];
    i64 step[Types::count];
    QUARRY_UNROLLED
    for (int k = 0; k < Types::count; ++k) {
      at[k] = pointer[k];
      step[k] = map_loops::block * stride[k];
    }
    u64 values[static_cast<u64>(2 * S + 1)];
    for (int k = 0; k < 2 * S; ++k) values[k] = scalars[k];
    for (i64 i = 0; i < n; i += map_loops::block) {
      // a constant count, so that -O2 vectorizes the inner loop
      QUARRY_IVDEP
      for (i64 j = 0; j < map_loops::block; ++j) {
        const dense_context here{at + Types::outputs, values, j, first + i};
        element<Computed, Out>(here).store_dense(at, j);
      }
      QUARRY_UNROLLED
      for (int k = 0; k < Types::count; ++k) at[k] += step[k];
    }
  }
  [[gnu::noinline]] QUARRY_AVX2 static void dense(i64 n, char* const* pointer, const i64* stride,
                                                  const u64* scalars, i64 first) {
    if constexpr (!has_sides) blocks<of_32_bytes<E>>(n, pointer, stride, scalars, first);
  }
#ifdef QUARRY_AVX512
  QUARRY_AVX512 static void dense_512(i64 n, char* const* pointer, const i64* stride,
                                      const u64* scalars, i64 first) {
    if constexpr (has_sides || has_parts<Out> || (has_parts<In> || ...) || multiplies_bytes<E>)
      dense(n, pointer, stride, scalars, first);
    else
      blocks<E>(n, pointer, stride, scalars, first);
  }
#else
  static constexpr auto dense_512 = dense;
#endif
  static constexpr auto dense_256 = [] {
    if constexpr (function_loop<E, Out>::exists)
      return function_loop<E, Out>::run;
    else
      return dense;
  }();
  static constexpr map_loops loops{
      run,         {dense_256, dense_512}, Types::outputs, Types::inputs,
      Types::size, sides_of<Types>::value};
};
/// Elements that are not written leave no block whole, so there are no loops of blocks.
template <class P, class E, class Out, int S, class... In>
struct cpu_map<map_of<guarded<P, E>, Out, S, In...>> {
  using Types = operands_of<Out, In...>;
  static void run(i64 n, char* const* pointer, const i64* stride, const u64* scalars, i64 first) {
    const run_context here{pointer + 1, stride + 1, scalars, 0, first};
    if (fixed<P>::in_run(here.stride)) {
      if (!P{}(here) || copied_run<E, Out>(n, pointer[0], stride[0], here)) return;
      for (i64 i = 0; i < n; ++i) {
        element<E, Out>(run_context{here.pointer, here.stride, scalars, i, first})
            .store(pointer, stride, i);
      }
      return;
    }
    for (i64 i = 0; i < n; ++i) {
      element<guarded<P, E>, Out>(run_context{here.pointer, here.stride, scalars, i, first})
          .store(pointer, stride, i);
    }
  }
  static constexpr map_loops loops{run,           {},          Types::outputs,
                                   Types::inputs, Types::size, sides_of<Types>::value};
};
QUARRY_LOOPS_END

template <class E, class Out, int S, class... In>
struct parts_of<map_of<E, Out, S, In...>> {
  static constexpr family kind = family::map;
  static constexpr int scalars = S;
  using expression = E;
  using types = operands_of<Out, In...>;
  using loops = cpu_map<map_of<E, Out, S, In...>>;
};

}  // namespace quarry::kernels
