// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/node.hpp>

#include <concepts>
#include <limits>

/// From what a user writes (arrays, expressions, plain numbers) to the arguments of a node. A plain
/// number is weak: it takes the type of the arrays beside it (NEP 50).
namespace quarry::expr {

template <class X>
concept ArrayOperand = requires {
  typename std::remove_cvref_t<X>::quarry_array;
};
/// An array or an expression.
template <class X>
concept Operand = ArrayOperand<X> || Expression<X>;

/// A C++ number; half-precision values and std::complex too.
template <class X>
concept Scalar = Number<std::remove_cvref_t<X>>;

template <class T>
Leaf<T> as_tree(const DeviceNDArray<T>& array) {
  return {array};
}
template <Expression E>
const E& as_tree(const E& e) {
  return e;
}

/// `value` as a kernel's K. Throws DTypeError if K is an integer type that does not hold the
/// integer, as NumPy 2 does.
template <class K, class S>
K scalar_as(const S& value) {
  if constexpr (requires { value.real(), value.imag(); }) {
    using R = std::remove_cvref_t<decltype(value.real())>;
    return kernels::convert<K>(kernels::complex<R>{value.real(), value.imag()});
  } else if constexpr (std::integral<S> && kernels::is_integer<K>) {
    if constexpr (!std::same_as<S, bool>) {
      if (!std::in_range<K>(value)) {
        quarry::detail::throw_out_of_range(std::to_string(value), quarry::detail::row_of<K>);
      }
    }
    return static_cast<K>(value);
  } else if constexpr (std::is_arithmetic_v<S>) {
    return kernels::convert<K>(
        static_cast<kernel_type_t<host_type_t<quarry::detail::row_of<S>>>>(value));
  } else {
    return kernels::convert<K>(static_cast<float>(value));  // half precision
  }
}

/// The element type of an operand: that of its elements, or for a scalar `none`.
inline constexpr TypeId none = TypeId::record;
template <class X>
consteval TypeId type_of() {
  if constexpr (Scalar<X>) {
    return none;
  } else {
    return dtype_of<typename X::value_type>.id();
  }
}

consteval TypeId promote_arrays(std::initializer_list<TypeId> types) {
  TypeId common = none;
  for (const TypeId t : types) {
    if (t != none) common = common == none ? t : promote(common, t);
  }
  return common;
}

/// The type that scalar S gets beside arrays of type `common`. A comparison takes integers as they
/// are, so that it is exact for values that the array's type does not hold.
template <class S, class Domain>
consteval TypeId scalar_type(TypeId common) {
  if (common == none || !WeakScalar<S>) return dtype_of<S>.id();
  const Kind kind = dtype_of<S>.kind();
  const bool exact = quarry::detail::is_integer(DType(common).kind());
  if (std::same_as<Domain, domains::compare> && exact && quarry::detail::is_integer(kind)) {
    return kind == Kind::signed_integer ? TypeId::int64 : TypeId::uint64;
  }
  return promote_weak(common, kind);
}

/// The argument of a node made from `x`, beside arrays of type `Common`.
template <class Domain, TypeId Common, class X>
decltype(auto) as_argument(const X& x) {
  if constexpr (Scalar<X>) {
    using K = kernel_type_t<host_type_t<scalar_type<X, Domain>(Common)>>;
    return Constant<K>{scalar_as<K>(x)};
  } else {
    return as_tree(x);
  }
}

template <class Domain, class... K>
consteval TypeId loop_of() {
  return Domain::template loop<quarry::detail::row_of<host_of_t<K>>...>();
}

/// The node of table row F over `arguments`, which are trees.
template <class F, class... A>
auto make_node(A... arguments) {
  constexpr TypeId loop = loop_of<typename F::domain, typename A::kernel_type...>();
  static_assert(loop != domains::no_loop, "the operation does not exist for these element types");
  using L = kernel_type_t<host_type_t<loop>>;
  return Node<Apply<F, L>, A...>(std::move(arguments)...);
}

/// The node of table row F over what the user wrote.
template <class F, class... X>
auto apply(const X&... x) {
  constexpr TypeId common = promote_arrays({type_of<X>()...});
  return make_node<F>(std::remove_cvref_t<decltype(as_argument<typename F::domain, common>(x))>(
      as_argument<typename F::domain, common>(x))...);
}
/// The same where the first operand is a condition, which has no say in the type.
template <class F, class C, class... X>
auto apply_selected(const C& condition, const X&... x) {
  constexpr TypeId common = promote_arrays({type_of<X>()...});
  return make_node<F>(std::remove_cvref_t<decltype(as_argument<domains::any, none>(condition))>(
                          as_argument<domains::any, none>(condition)),
                      std::remove_cvref_t<decltype(as_argument<domains::any, common>(x))>(
                          as_argument<domains::any, common>(x))...);
}

/// The node of user function F; its own C++ rules decide the type, scalars keep theirs.
template <class F, class... X>
auto call(const X&... x) {
  return Node<Call<F>, std::remove_cvref_t<decltype(as_argument<domains::any, none>(x))>...>(
      as_argument<domains::any, none>(x)...);
}

}  // namespace quarry::expr
