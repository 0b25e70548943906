// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/access.hpp>
#include <quarry/kernels/node.hpp>

#include "kernels/vector.cuh"

/// What is the same for a row of a map: where it is read or written, and whether it is written.
namespace quarry::kernels {

/// Whether an expression may have several values in a row.
template <class E, unsigned Wide>
inline constexpr bool moves = true;
template <class T, int K, unsigned Wide>
inline constexpr bool moves<in<T, K>, Wide> = input_access::of(Wide, K).moves();
template <class T, int S, unsigned Wide>
inline constexpr bool moves<val<T, S>, Wide> = false;
template <class T, class A, unsigned Wide>
inline constexpr bool moves<cast<T, A>, Wide> = moves<A, Wide>;
template <class F, class L, class... A, unsigned Wide>
inline constexpr bool moves<op<F, L, A...>, Wide> = (moves<A, Wide> || ...);
template <class F, class... A, unsigned Wide>
inline constexpr bool moves<call<F, A...>, Wide> = (moves<A, Wide> || ...);
template <index_mode Mode, int S, class I, unsigned Wide>
inline constexpr bool moves<place<Mode, S, I>, Wide> = moves<I, Wide>;

/// Whether rows of a side operand are copied as they are: no lane is computed by itself.
template <class E, class Out, unsigned Wide>
inline constexpr bool copies_rows = false;
template <class T, int K, class... Places, unsigned Wide>
inline constexpr bool copies_rows<pick<T, K, Places...>, T, Wide> =
    !is_bool<T> && input_access::of(Wide, K).is_wide && !(moves<Places, Wide> || ...);

/// A row all of which is computed and written, where it begins.
template <class E, class Out>
struct whole_row {
  using expression = E;
  using type = Out;
  static constexpr bool is_always_written = true;
  template <class C>
  static __device__ bool is_written(const C& /*c*/) {
    return true;
  }
  template <class C>
  static __device__ i64 offset(const C& /*c*/) {
    return 0;
  }
};
/// What is computed of a row, whether it is written, and how far from where it would begin.
template <class E, class Out, unsigned Wide>
struct written_row : whole_row<E, Out> {};
template <class P, class E, class Out, unsigned Wide>
requires(!moves<P, Wide>) struct written_row<guarded<P, E>, Out, Wide> : written_row<E, Out, Wide> {
  static constexpr bool is_always_written = false;
  template <class C>
  static __device__ bool is_written(const C& c) {
    return P{}(c);
  }
};

}  // namespace quarry::kernels
