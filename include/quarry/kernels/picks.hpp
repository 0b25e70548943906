// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

/// The elements of side operands that an expression reads.
namespace quarry::kernels {

/// How many picks an expression has; -1 where some elements are not computed.
template <class E>
inline constexpr int picks_in = 0;
template <template <class...> class Node, class... A>
inline constexpr int picks_in<Node<A...>> = (picks_in<A> + ... + 0);
template <class P, class E>
inline constexpr int picks_in<guarded<P, E>> = -1;
template <index_mode Mode, int S, class I>
inline constexpr int picks_in<place<Mode, S, I>> = picks_in<I>;
template <class T, int K, class... Places>
inline constexpr int picks_in<pick<T, K, Places...>> = 1 + (picks_in<Places> + ... + 0);

/// Whether an expression is the same wherever its inputs are.
template <class E>
inline constexpr bool is_of_inputs = false;
template <class T, int K>
inline constexpr bool is_of_inputs<in<T, K>> = true;
template <class T, int S>
inline constexpr bool is_of_inputs<val<T, S>> = true;
template <class T, class A>
inline constexpr bool is_of_inputs<cast<T, A>> = is_of_inputs<A>;
template <class F, class L, class... A>
inline constexpr bool is_of_inputs<op<F, L, A...>> = (is_of_inputs<A> && ...);
template <class F, class... A>
inline constexpr bool is_of_inputs<call<F, A...>> = (is_of_inputs<A> && ...);
template <index_mode Mode, int S, class I>
inline constexpr bool is_of_inputs<place<Mode, S, I>> = is_of_inputs<I>;

/// Whether an expression is the same for all elements.
template <class E>
inline constexpr bool is_constant = false;
template <class T, int S>
inline constexpr bool is_constant<val<T, S>> = true;
template <class T, class A>
inline constexpr bool is_constant<cast<T, A>> = is_constant<A>;
template <class F, class L, class... A>
inline constexpr bool is_constant<op<F, L, A...>> = (is_constant<A> && ...);
template <class F, class... A>
inline constexpr bool is_constant<call<F, A...>> = (is_constant<A> && ...);

/// The positions of one axis that map M can check itself, where they are those of rows that are all
/// that it copies: their `type`, an integer with a sign, the `operand`, and the scalar that is the
/// `axis`. For other maps the operand is -1.
template <class M>
struct row_positions {
  static constexpr int operand = -1;
};
template <class T, int K, int A, class I, int N, int S, class... In>
requires(is_integer<I>&& is_signed<I> && !is_bool<T>) struct row_positions<
    map_of<pick<T, K, place<index_mode::from_end, A, in<I, N>>>, T, S, In...>> {
  using type = I;
  static constexpr int operand = 1 + N, axis = A;
};

/// The pick of an expression that has one: its element's `type`, its `input`, and the `offset` from
/// the operand's first element in bytes.
template <class E>
struct only_pick {};
template <class T, int K, class... Places>
struct only_pick<pick<T, K, Places...>> {
  using type = T;
  static constexpr int input = K;
  template <class C>
  QUARRY_HD static i64 offset(const C& c) {
    return (Places{}(c) + ...);
  }
};
template <class A, class... More>
struct first_with_pick : first_with_pick<More...> {};
template <class A, class... More>
requires(picks_in<A> > 0) struct first_with_pick<A, More...> : only_pick<A> {
};
template <template <class...> class Node, class... A>
requires(picks_in<Node<A...>> == 1) struct only_pick<Node<A...>> : first_with_pick<A...> {
};

}  // namespace quarry::kernels
