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
/// An expression that cannot be part of another one is evaluated.
template <Expression E>
decltype(auto) as_tree(const E& e) {
  if constexpr (is_tree<E>) {
    return (e);
  } else {
    return Leaf<typename E::value_type>{e.template evaluate<typename E::value_type>()};
  }
}
/// Its tree is the node that it derives from: ops/indexing.hpp.
template <kernels::index_mode Mode, class T, class... P>
class Indexed;
template <kernels::index_mode Mode, class T, class... P>
const Node<Pick<Mode>, SideLeaf<T, int{sizeof...(P)}>, P...>& as_tree(
    const Indexed<Mode, T, P...>& e) {
  return e;
}

/// Whether a use of an operand's shape or elements costs no evaluation of it all: an array, or an
/// expression that can be part of another one.
template <class X>
inline constexpr bool is_settled = ArrayOperand<X>;
template <Expression E>
inline constexpr bool is_settled<E> =
    !std::is_same_v<std::remove_cvref_t<decltype(as_tree(std::declval<const E&>()))>,
                    Leaf<typename E::value_type>>;
/// The operand itself, or its elements as an array unless it is settled.
template <Operand X>
decltype(auto) settled(const X& x) {
  if constexpr (is_settled<X>) {
    return (x);
  } else {
    return DeviceNDArray<typename X::value_type>(as_tree(x).array);
  }
}

/// The element type of an operand; for a weak scalar `none`.
inline constexpr TypeId none = TypeId::record;
template <class X>
consteval TypeId type_of() {
  if constexpr (WeakScalar<X>) {
    return none;
  } else if constexpr (Scalar<X>) {
    return dtype_of<X>.id();
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

/// The type with which operand X takes part in the choice of the loop, beside others whose common
/// type is `common`: a weak scalar contributes only its kind.
template <class X>
consteval TypeId type_beside(TypeId common) {
  if constexpr (!WeakScalar<X>) {
    return type_of<X>();
  } else {
    return common == none ? dtype_of<X>.id() : promote_weak(common, dtype_of<X>.kind());
  }
}

/// The loop of an operation of this domain on operands X as the user wrote them.
template <class Domain, class... X>
consteval TypeId loop_beside() {
  constexpr TypeId common = promote_arrays({type_of<X>()...});
  return Domain::template loop<type_beside<X>(common)...>();
}

/// The type that operand X gets as an argument: a weak scalar is converted to the loop's. In
/// comparisons of integers it is not converted, so that the result is exact for values that do not
/// fit in the array's type.
template <class Domain, class X>
consteval TypeId argument_type(TypeId common, TypeId loop) {
  if constexpr (WeakScalar<X>) {
    constexpr Kind kind = dtype_of<X>.kind();
    const bool is_exact = common != none && quarry::detail::is_integer(DType(common).kind());
    if (std::same_as<Domain, domains::compare> && is_exact && quarry::detail::is_integer(kind)) {
      return kind == Kind::signed_integer ? TypeId::int64 : TypeId::uint64;
    }
    return common == none || loop == domains::no_loop ? type_beside<X>(common) : loop;
  } else {
    return type_of<X>();
  }
}

/// The argument of a node made from `x`; a scalar gets type `As`.
template <TypeId As, class X>
decltype(auto) as_argument(const X& x) {
  if constexpr (Scalar<X>) {
    using K = kernel_type_t<host_type_t<As>>;
    return Constant<K>{quarry::detail::scalar_as<K>(x)};
  } else {
    return as_tree(x);
  }
}
template <TypeId As, class X>
using argument_t = std::remove_cvref_t<decltype(as_argument<As>(std::declval<const X&>()))>;

template <class Domain, class... K>
consteval TypeId loop_of() {
  return Domain::template loop<quarry::detail::row_of<host_of_t<K>>...>();
}

/// The result of an invalid operation, so that its static_assert is the only error.
template <class T>
DeviceNDArray<T> no_result();

template <class F, class... K>
inline constexpr bool is_minus_of_bools =
    (std::same_as<F, kernels::negative_op> ||
     std::same_as<F, kernels::subtract_op>)&&(std::same_as<K, bool>&&...);

/// The node of table row F over trees, which it copies unless they are temporaries.
template <class F, class X, class... A>
auto make_node(X&& first, A&&... arguments) {
  using K = typename std::remove_cvref_t<X>::kernel_type;
  constexpr TypeId loop =
      loop_of<typename F::domain, K, typename std::remove_cvref_t<A>::kernel_type...>();
  if constexpr (loop == domains::no_loop) {
    constexpr bool minus = is_minus_of_bools<F, K, typename std::remove_cvref_t<A>::kernel_type...>;
    static_assert(!minus, "bools have no minus, as in NumPy: ~a negates, a ^ b is the difference");
    static_assert(minus, "the operation does not exist for these element types");
    return no_result<host_of_t<K>>();
  } else {
    using L = kernel_type_t<host_type_t<loop>>;
    return Node<Apply<F, L>, std::remove_cvref_t<X>, std::remove_cvref_t<A>...>(
        std::forward<X>(first), std::forward<A>(arguments)...);
  }
}

/// Whether an operand is a number or has elements that are.
template <class X>
consteval bool is_numeric() {
  if constexpr (Scalar<X>) {
    return true;
  } else if constexpr (Operand<X>) {
    return Number<typename X::value_type>;
  } else {
    return false;
  }
}
template <class X, class... Rest>
struct ValueOfOperand : ValueOfOperand<Rest...> {};
template <Operand X, class... Rest>
struct ValueOfOperand<X, Rest...> {
  using type = typename X::value_type;
};
/// Explains in a static_assert why there is no node.
template <class... X>
auto refuse() {
  constexpr bool host = (HostArray<X> || ...);
  static_assert(!host, "host memory is no operand: bring it to the device with to_device(h) first");
  static_assert(
      host, "records have no arithmetic: compute with their fields, a.field<&Record::member>()");
  return no_result<typename ValueOfOperand<X...>::type>();
}

/// The node of table row F over what the user wrote.
template <class F, class... X>
auto apply(const X&... x) {
  if constexpr (!(is_numeric<X>() && ...)) {
    return refuse<X...>();
  } else {
    using Domain = typename F::domain;
    constexpr TypeId common = promote_arrays({type_of<X>()...});
    constexpr TypeId loop = loop_beside<Domain, X...>();
    return make_node<F>(as_argument<argument_type<Domain, X>(common, loop)>(x)...);
  }
}
/// The same where the first operand is a condition, which does not affect the type.
template <class F, class C, class... X>
auto apply_selected(const C& condition, const X&... x) {
  if constexpr (!(is_numeric<C>() && ... && is_numeric<X>())) {
    return refuse<C, X...>();
  } else {
    using Domain = domains::any;
    constexpr TypeId common = promote_arrays({type_of<X>()...});
    constexpr TypeId loop = loop_beside<Domain, X...>();
    return make_node<F>(as_tree(condition),
                        as_argument<argument_type<Domain, X>(common, loop)>(x)...);
  }
}

/// The node of user function F; its own C++ rules decide the type, scalars keep theirs.
template <class F, class... X>
auto call(const X&... x) {
  return Node<Call<F>, argument_t<type_beside<X>(none), X>...>(
      as_argument<type_beside<X>(none)>(x)...);
}

}  // namespace quarry::expr
