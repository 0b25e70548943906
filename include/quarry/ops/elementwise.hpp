// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/evaluate.hpp>

/// The elementwise functions and operators, one for each row of kernels/ops.def, with NumPy's names
/// and types. All are lazy: they build an expression, throw ShapeError where shapes do not
/// broadcast, and launch nothing.
namespace quarry {

namespace expr {
template <class X>
concept Value = Operand<X> || Scalar<X>;
/// Operands of a binary function: at least one array or expression, which is asked first, since the
/// concept Scalar itself compares values of an enumeration.
template <class A, class B>
concept Pair = (Operand<A> || Operand<B>)&&Value<A>&& Value<B>;
}  // namespace expr

#define QUARRY_UNARY(name, domain, ...)        \
  template <expr::Operand A>                   \
  auto name(const A& a) {                      \
    return expr::apply<kernels::name##_op>(a); \
  }
#define QUARRY_BINARY(name, domain, ...) \
  template <class A, class B>            \
  requires expr::Pair<A, B>              \
  auto name(const A& a, const B& b) { return expr::apply<kernels::name##_op>(a, b); }
#define QUARRY_TERNARY(name, domain, ...)
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY

/// `x` where the condition holds, else `y`.
template <expr::Operand C, expr::Value X, expr::Value Y>
auto where(const C& condition, const X& x, const Y& y) {
  return expr::apply_selected<kernels::where_op>(condition, x, y);
}
/// `a` cut off at both ends; NaN stays.
template <expr::Operand A, expr::Value L, expr::Value H>
auto clip(const A& a, const L& low, const H& high) {
  return expr::apply<kernels::clip_op>(a, low, high);
}

// NumPy's other names
#define QUARRY_ALIAS(alias, name)              \
  template <expr::Operand A>                   \
  auto alias(const A& a) {                     \
    return expr::apply<kernels::name##_op>(a); \
  }
QUARRY_ALIAS(arcsin, asin)
QUARRY_ALIAS(arccos, acos)
QUARRY_ALIAS(arctan, atan)
QUARRY_ALIAS(arcsinh, asinh)
QUARRY_ALIAS(arccosh, acosh)
QUARRY_ALIAS(arctanh, atanh)
QUARRY_ALIAS(absolute, abs)
#undef QUARRY_ALIAS
template <class A, class B>
requires expr::Pair<A, B>
auto arctan2(const A& a, const B& b) { return expr::apply<kernels::atan2_op>(a, b); }

// Operators. / divides truly (integers give float64), % has the sign of the divisor; see
// floor_divide, fmod.
#define QUARRY_OPERATOR(symbol, name) \
  template <class A, class B>         \
  requires expr::Pair<A, B>           \
  auto operator symbol(const A& a, const B& b) { return expr::apply<kernels::name##_op>(a, b); }
QUARRY_OPERATOR(+, add)
QUARRY_OPERATOR(-, subtract)
QUARRY_OPERATOR(*, multiply)
QUARRY_OPERATOR(/, divide)
QUARRY_OPERATOR(%, remainder)
QUARRY_OPERATOR(==, equal)
QUARRY_OPERATOR(!=, not_equal)
QUARRY_OPERATOR(<, less)
QUARRY_OPERATOR(<=, less_equal)
QUARRY_OPERATOR(>, greater)
QUARRY_OPERATOR(>=, greater_equal)
QUARRY_OPERATOR(&&, logical_and)
QUARRY_OPERATOR(||, logical_or)
QUARRY_OPERATOR(&, bitwise_and)
QUARRY_OPERATOR(|, bitwise_or)
QUARRY_OPERATOR(^, bitwise_xor)
QUARRY_OPERATOR(<<, left_shift)
QUARRY_OPERATOR(>>, right_shift)
#undef QUARRY_OPERATOR

#define QUARRY_OPERATOR(symbol, name)          \
  template <expr::Operand A>                   \
  auto operator symbol(const A& a) {           \
    return expr::apply<kernels::name##_op>(a); \
  }
QUARRY_OPERATOR(-, negative)
QUARRY_OPERATOR(+, positive)
QUARRY_OPERATOR(!, logical_not)
QUARRY_OPERATOR(~, invert)
#undef QUARRY_OPERATOR

// In place, through a name or a view; the array keeps its type.
#define QUARRY_OPERATOR(symbol, name)                                                              \
  template <class T, expr::Value B>                                                                \
  requires(!std::is_const_v<T>) const DeviceNDArray<T>& operator symbol(const DeviceNDArray<T>& a, \
                                                                        const B& b) {              \
    a.assign(expr::apply<kernels::name##_op>(a, b));                                               \
    return a;                                                                                      \
  }
QUARRY_OPERATOR(+=, add)
QUARRY_OPERATOR(-=, subtract)
QUARRY_OPERATOR(*=, multiply)
QUARRY_OPERATOR(/=, divide)
QUARRY_OPERATOR(%=, remainder)
QUARRY_OPERATOR(&=, bitwise_and)
QUARRY_OPERATOR(|=, bitwise_or)
QUARRY_OPERATOR(^=, bitwise_xor)
QUARRY_OPERATOR(<<=, left_shift)
QUARRY_OPERATOR(>>=, right_shift)
#undef QUARRY_OPERATOR

/// A function of arrays that runs elementwise on every device and fuses like any other:
///     QUARRY_FUNCTION(saxpy, (auto a, auto x, auto y), a * x + y);
///     y = saxpy(2.f, x, y);
/// The body is one expression of its parameters, of numbers, and of the functions of
/// kernels/math.hpp. It has C++'s types: an int stays an int. At namespace scope only.
#define QUARRY_FUNCTION(name, parameters, ...)                                          \
  struct name##_function {                                                              \
    static constexpr const char* quarry_source =                                        \
        "__device__ auto operator()" #parameters " const { return " #__VA_ARGS__ "; }"; \
    constexpr auto operator() parameters const {                                        \
      using namespace ::quarry::kernels::math;                                          \
      return __VA_ARGS__;                                                               \
    }                                                                                   \
  };                                                                                    \
  inline constexpr auto name = [](const auto&... x) {                                   \
    return ::quarry::expr::call<name##_function>(x...);                                 \
  };                                                                                    \
  static_assert(true, "")

}  // namespace quarry
