// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <string_view>

#include <quarry/base/dtype.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/params.hpp>
#include <quarry/kernels/picks.hpp>
#include <quarry/kernels/user_function.hpp>

/// A program: the description of a kernel's type for code that is no template. It has the name with
/// which NVRTC instantiates the kernel, and the loops for the CPU, which the user's compiler made.
namespace quarry::kernels {

/// The name of a type as this compiler spells it, which NVRTC understands.
using quarry::detail::type_name;

template <class F>
concept has_source = requires {
  F::quarry_source;
};

/// The user functions in an expression, in any order, with repetitions.
template <class E>
struct users_of {
  static void collect(auto&) {}
};
template <class T, class A>
struct users_of<cast<T, A>> : users_of<A> {};
template <class F, class L, class... A>
struct users_of<op<F, L, A...>> {
  static void collect(auto& add) { (users_of<A>::collect(add), ...); }
};
template <index_mode Mode, int S, class I>
struct users_of<place<Mode, S, I>> : users_of<I> {};
template <class T, int K, class... Places>
struct users_of<pick<T, K, Places...>> {
  static void collect(auto& add) { (users_of<Places>::collect(add), ...); }
};
template <class... E>
struct users_of<several<E...>> {
  static void collect(auto& add) { (users_of<E>::collect(add), ...); }
};
template <class P, class E>
struct users_of<guarded<P, E>> : users_of<several<P, E>> {};
template <class F, class... A>
struct users_of<call<F, A...>> {
  static void collect(auto& add) {
    if constexpr (has_source<F>) add(user_function{type_name<F>(), F::quarry_source});
    (users_of<A>::collect(add), ...);
  }
};

using user_visitor = void (*)(void* state, const user_function&);

/// The families of kernels, each with a pattern of iteration of its own: kernels/<name>.cuh has the
/// kernels of GPUs, quarry/kernels/<name>.hpp the loops of the CPU and the family's parts_of. How
/// to add one: docs/howto/kernel.md.
enum class family : u8 {
#define QUARRY_FAMILY(name) name,
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY
};

/// The scalars that are axes of an operand's own; none unless it is a side operand.
struct own_axes {
  int first = 0, count = 0;
};
template <class T>
inline constexpr own_axes axes_of{};
template <class T, int First, int Axes>
inline constexpr own_axes axes_of<side<T, First, Axes>>{First, Axes};

/// Those of every operand. Apart from operands_of, so that it is not in device code.
template <class Types>
struct sides_of;
template <class Outputs, class... In>
struct sides_of<operands_of<Outputs, In...>> : sides_of<operands_of<several<Outputs>, In...>> {};
template <class... Out, class... In>
struct sides_of<operands_of<several<Out...>, In...>> {
  static constexpr own_axes value[] = {axes_of<Out>..., axes_of<In>...};
};

/// The parts of a `program` that depend on its type M (map_of<...>, ...). Each family specialises
/// it with the members
///   kind         the family             scalars      how many scalars a call has
///   expression   E, or several of them  types        operands_of<...>
///   loops        a class with the member `loops`, the CPU's loops of the family
template <class M>
struct parts_of;

/// Of an expression that says where its elements are written: whether all of a run replace elements
/// at one place, or none does. `strides` are those of the inputs along the run. Null for others.
using place_test = bool (*)(const i64* strides);
template <class E>
inline constexpr place_test is_at_one_place = nullptr;

/// What a map does at one place of a side operand for each of its elements.
template <class E>
inline constexpr single_access singles_of =
    picks_in<E> == 1 ? single_access::read : single_access::none;

/// Whether elements are copied as they are, where inputs that are the same for a whole row say, so
/// that rows can be copied whole: by a map of a side operand, if need be where a condition is true,
/// or by a selection by a mask.
template <class M>
inline constexpr bool copies_rows_of = false;
template <class T, int K, class... Places, int S, class... In>
inline constexpr bool copies_rows_of<map_of<pick<T, K, Places...>, T, S, In...>> =
    !is_bool<T> && (is_of_inputs<Places> && ...);
template <class P, class E, class T, int S, class... In>
inline constexpr bool copies_rows_of<map_of<guarded<P, E>, T, S, In...>> =
    is_of_inputs<P>&& copies_rows_of<map_of<E, T, S, In...>>;
template <class T, int S>
inline constexpr bool copies_rows_of<select_of<in<bool, 0>, in<T, 1>, T, false, S, bool, T>> =
    sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0;

/// What a map stores.
enum class stored_elements : u8 {
  all,
  chosen,       ///< where a condition is true
  one_constant  ///< the same, of one value
};
template <class M>
inline constexpr stored_elements stored_by = stored_elements::all;
template <class P, class E, class T, int S, class... In>
inline constexpr stored_elements stored_by<map_of<guarded<P, E>, T, S, In...>> =
    is_constant<E> ? stored_elements::one_constant : stored_elements::chosen;

/// There is one for each type M; it lives as long as the executable or shared object that defines
/// it is loaded. The operands are the outputs, then the inputs.
struct program {
  family kind;
  std::string_view name;  ///< of map_of<...>, reduction_of<...>, ...
  int outputs, inputs, scalars;
  const std::uint32_t *itemsize, *alignment;  ///< of every operand
  const own_axes* own;                        ///< of every operand: see side in node.hpp
  void (*users)(void* state, user_visitor);   ///< calls the visitor for every user function
  single_access singles;                      ///< singles_of the expression
  place_test is_at_one_place;
  const void* loops;                              ///< the CPU's: map_loops, reduce_loops, ...
  bool copies = false;                            ///< copies_rows_of M
  int rows_at = -1;                               ///< the operand of row_positions of M
  stored_elements stores = stored_elements::all;  ///< stored_by M
  /// The CUDA backend's list of compiled variants; entries are added and never removed.
  mutable std::atomic<const void*> compiled = nullptr;
  /// What the CUDA backend knows of operands that are the same in all calls.
  mutable std::atomic<const void*> sharing = nullptr;

  int operands() const { return outputs + inputs; }
  bool is_side(std::size_t k) const { return own[k].count > 0; }
};

namespace detail {
template <class E>
void visit_users(void* state, user_visitor visit) {
  auto add = [=](const user_function& f) { visit(state, f); };
  users_of<E>::collect(add);
}
}  // namespace detail

template <class M>
struct program_for {
  using Parts = parts_of<M>;
  using Types = typename Parts::types;
  static inline constinit program value{Parts::kind,
                                        type_name<M>(),
                                        Types::outputs,
                                        Types::inputs,
                                        Parts::scalars,
                                        Types::size,
                                        Types::alignment,
                                        sides_of<Types>::value,
                                        detail::visit_users<typename Parts::expression>,
                                        singles_of<typename Parts::expression>,
                                        is_at_one_place<typename Parts::expression>,
                                        &Parts::loops::loops,
                                        copies_rows_of<M>,
                                        row_positions<M>::operand,
                                        stored_by<M>};
};

}  // namespace quarry::kernels
