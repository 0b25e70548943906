// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/functor.hpp>

/// The functions that the body of a QUARRY_FUNCTION can call, on every device: the rows of ops.def
/// on numbers. Operands are converted to the type of their sum in C++; where NumPy computes a
/// function in floating point, integers become double.
namespace quarry::kernels {

namespace detail {

template <class T>
inline constexpr bool is_exact = is_bool<T> || is_integer<T>;

template <class A, class B>
QUARRY_HD auto common_value(A a, B b) {
  if constexpr (is_same<A, B>)
    return a;
  else if constexpr (is_half<A>)
    return common_value(static_cast<float>(a), b);
  else if constexpr (is_half<B>)
    return common_value(a, static_cast<float>(b));
  else if constexpr (is_complex<A> || is_complex<B>)
    return complex<decltype(common_value(real_type<A>{}, real_type<B>{}))>{};
  else
    return a + b;
}
template <class A>
QUARRY_HD A common_value(A a) {
  return a;
}
template <class A, class B, class C>
QUARRY_HD auto common_value(A a, B b, C c) {
  return common_value(common_value(a, b), c);
}

/// A value of the type in which Domain computes on operands of the common type T.
template <class Domain, class T>
QUARRY_HD auto loop_value(T value) {
  constexpr bool is_rounded = is_same<Domain, domains::inexact> ||
                              is_same<Domain, domains::floating> ||
                              is_same<Domain, domains::quotient>;
  constexpr bool is_number = is_same<Domain, domains::numeric> ||
                             is_same<Domain, domains::arithmetic> ||
                             is_same<Domain, domains::real> || is_same<Domain, domains::shift>;
  constexpr bool is_real = is_same<Domain, domains::floating> || is_same<Domain, domains::real> ||
                           is_same<Domain, domains::keep>;
  constexpr bool is_integral =
      is_same<Domain, domains::integral> || is_same<Domain, domains::shift>;
  static_assert(!is_real || !is_complex<T>, "this function does not exist for complex numbers");
  static_assert(!is_integral || is_exact<T>, "this function exists for integers only");
  if constexpr (is_same<Domain, domains::logical>)
    return true;
  else if constexpr (is_rounded && is_exact<T>)
    return double{};
  else if constexpr (is_number && is_bool<T>)
    return int{};
  else
    return value;
}
template <class Operation, class... A>
using loop_of = decltype(loop_value<typename Operation::domain>(common_value(A{}...)));

}  // namespace detail

/// The base of every user function, so that its body finds these names before all others.
struct functions {
  using float16 = kernels::float16;
  using bfloat16 = kernels::bfloat16;
  template <class T>
  using complex = kernels::complex<T>;

#define QUARRY_UNARY(name, ...)              \
  template <class A>                         \
  QUARRY_HD static auto name(A a) {          \
    using L = detail::loop_of<name##_op, A>; \
    return name##_op::template apply<L>(a);  \
  }
#define QUARRY_BINARY(name, ...)                \
  template <class A, class B>                   \
  QUARRY_HD static auto name(A a, B b) {        \
    using L = detail::loop_of<name##_op, A, B>; \
    return name##_op::template apply<L>(a, b);  \
  }
#define QUARRY_TERNARY(name, ...)
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY

  template <class A, class L, class H>
  QUARRY_HD static auto clip(A a, L low, H high) {
    return clip_op::template apply<detail::loop_of<clip_op, A, L, H>>(a, low, high);
  }
  template <class C, class X, class Y>
  QUARRY_HD static auto where(C condition, X x, Y y) {
    return where_op::template apply<detail::loop_of<where_op, X, Y>>(condition, x, y);
  }

#define QUARRY_UNARY_ALIAS(alias, row) \
  template <class A>                   \
  QUARRY_HD static auto alias(A a) {   \
    return row(a);                     \
  }
#define QUARRY_BINARY_ALIAS(alias, row)   \
  template <class A, class B>             \
  QUARRY_HD static auto alias(A a, B b) { \
    return row(a, b);                     \
  }
#include <quarry/kernels/aliases.def>
#undef QUARRY_UNARY_ALIAS
#undef QUARRY_BINARY_ALIAS
};

}  // namespace quarry::kernels
