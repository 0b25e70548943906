// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/cpu_context.hpp>
#include <quarry/kernels/node.hpp>

/// What the CPU's loops compute once for a run instead of for every element.
namespace quarry::kernels {

/// Whether an expression has one value in a run: no input that it reads moves. `stride` are those
/// of the inputs.
template <class E>
struct fixed {
  static bool in_run(const i64* /*stride*/) { return false; }
};
template <class... A>
struct all_fixed {
  static bool in_run([[maybe_unused]] const i64* stride) {
    return (fixed<A>::in_run(stride) && ...);
  }
};
template <class T, int K>
struct fixed<in<T, K>> {
  static bool in_run(const i64* stride) { return stride[K] == 0; }
};
template <class T, int S>
struct fixed<val<T, S>> : all_fixed<> {};
template <class T, class A>
struct fixed<cast<T, A>> : fixed<A> {};
template <class F, class L, class... A>
struct fixed<op<F, L, A...>> : all_fixed<A...> {};
template <index_mode Mode, int S, class I>
struct fixed<place<Mode, S, I>> : fixed<I> {};
template <class T, int K, class... Places>
struct fixed<pick<T, K, Places...>> : all_fixed<in<T, K>, Places...> {};

/// Elements of an operand in a run, as Out.
template <class Out, class T>
void copy_run(i64 n, char* to, i64 to_stride, const char* from, i64 from_stride) {
  constexpr i64 size = sizeof(T);
  if constexpr (is_same<Out, T> && !is_bool<T>) {
    if (to_stride == size && from_stride == size) {
      __builtin_memmove(to, from, static_cast<u64>(n * size));
      return;
    }
  }
  for (i64 i = 0; i < n; ++i) {
    *reinterpret_cast<Out*>(to + i * to_stride) = convert<Out>(load<T>(from + i * from_stride));
  }
}

/// Whether an expression is an element of an operand as it is, and the part of a run that it takes
/// where only the operand moves.
template <class E>
struct plain_run {
  static constexpr bool is_there = false;
};
template <class T, int K>
struct plain_run<in<T, K>> {
  static constexpr bool is_there = true;
  using type = T;
  static constexpr int input = K;
  static bool is_fixed(const i64*) { return true; }
  static i64 offset(const run_context&) { return 0; }
};
template <class T, int K, class... Places>
struct plain_run<pick<T, K, Places...>> {
  static constexpr bool is_there = true;
  using type = T;
  static constexpr int input = K;
  static bool is_fixed(const i64* stride) { return all_fixed<Places...>::in_run(stride); }
  static i64 offset(const run_context& c) { return (Places{}(c) + ...); }
};

/// Copies the elements that E is, if it is no more than that: else returns false. `here` is at the
/// first one.
template <class E, class Out>
bool copied_run(i64 n, char* to, i64 to_stride, const run_context& here) {
  if constexpr (plain_run<E>::is_there) {
    using P = plain_run<E>;
    if (!P::is_fixed(here.stride)) return false;
    copy_run<Out, typename P::type>(n, to, to_stride, here.pointer[P::input] + P::offset(here),
                                    here.stride[P::input]);
    return true;
  } else {
    return false;
  }
}

}  // namespace quarry::kernels
