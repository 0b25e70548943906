// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <string_view>

#include <quarry/base/dtype.hpp>
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>
#include <quarry/kernels/user_function.hpp>

/// What plain host code knows of one expression type: the name under which NVRTC instantiates it
/// and the loops that g++ made of it.
namespace quarry::kernels {

/// NVRTC reads the spelling of this compiler.
using quarry::detail::type_name;

template <class F>
concept has_source = requires {
  F::quarry_source;
};

/// The user functions below a node, in any order, with repetitions.
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
template <class F, class... A>
struct users_of<call<F, A...>> {
  static void collect(auto& add) {
    if constexpr (has_source<F>) add(user_function{type_name<F>(), F::quarry_source});
    (users_of<A>::collect(add), ...);
  }
};

using user_visitor = void (*)(void* state, const user_function&);

/// One for each type of expression; lives as long as the program or library that made it.
struct program {
  std::string_view name;          ///< of map_of<...> or reduction_of<...>
  int inputs, scalars;            ///< how many
  const std::uint32_t* itemsize;  ///< of the output, then of each input
  const std::uint32_t* alignment;
  void (*users)(void* state, user_visitor);  ///< calls the visitor for every user function
  map_loop map = nullptr;
  const reduce_loops* reduce = nullptr;
  std::uint32_t accumulator_size = 0;
  /// The backends' compiled variants; entries are added and never removed.
  mutable std::atomic<const void*> compiled = nullptr;
};

namespace detail {
template <class E>
void visit_users(void* state, user_visitor visit) {
  auto add = [=](const user_function& f) { visit(state, f); };
  users_of<E>::collect(add);
}
template <class... T>
inline constexpr std::uint32_t sizes[] = {sizeof(T)...};
template <class... T>
inline constexpr std::uint32_t alignments[] = {alignof(T)...};
}  // namespace detail

template <class M>
struct program_for;
template <class E, class Out, int S, class... In>
struct program_for<map_of<E, Out, S, In...>> {
  using M = map_of<E, Out, S, In...>;
  static inline constinit program value{type_name<M>(),
                                        sizeof...(In),
                                        S,
                                        detail::sizes<Out, In...>,
                                        detail::alignments<Out, In...>,
                                        detail::visit_users<E>,
                                        cpu_map<M>::run};
};
template <class E, class R, class Acc, class Out, int S, class... In>
struct program_for<reduction_of<E, R, Acc, Out, S, In...>> {
  using M = reduction_of<E, R, Acc, Out, S, In...>;
  static inline constinit program value{type_name<M>(),
                                        sizeof...(In),
                                        S,
                                        detail::sizes<Out, In...>,
                                        detail::alignments<Out, In...>,
                                        detail::visit_users<E>,
                                        nullptr,
                                        &cpu_reduce<M>::loops,
                                        sizeof(Acc)};
};

}  // namespace quarry::kernels
