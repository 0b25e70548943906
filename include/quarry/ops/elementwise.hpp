// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/expr/sequence.hpp>
#include <quarry/kernels/function.hpp>
#include <quarry/ops/record_words.hpp>

/// The elementwise functions and operators, one for each row of kernels/ops.def, with NumPy's names
/// and types. All are lazy: they build an expression, throw ShapeError where shapes do not
/// broadcast, and launch nothing.
namespace quarry {

namespace expr {
template <class X>
concept Value = Operand<X> || Scalar<X> || HostArray<X>;  // the last ones to be told of to_device
/// Operands of a binary function: at least one array or expression, which is checked first, since
/// the concept Scalar itself compares values of an enumeration.
template <class A, class B>
concept Pair = (Operand<A> || Operand<B>)&&Value<A>&& Value<B>;

enum class End { lowest, highest };
/// `x` as a lower or upper bound of the elements of A: an integer outside their range is no bound.
template <class A, End end, class X>
const X& clip_bound(const X& x) {
  return x;
}
template <class A, End end, Integer S>
S clip_bound(const S& s) {
  using T = kernel_type_t<typename A::value_type>;
  if constexpr (kernels::is_integer<T>) {
    constexpr bool is_low = end == End::lowest;
    constexpr T last = is_low ? kernels::limits<T>::lowest() : kernels::limits<T>::highest();
    const auto value = kernel_type_t<S>(s);
    if (is_low ? std::cmp_less(value, last) : std::cmp_greater(value, last)) return S(last);
  }
  return s;
}
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
requires(!(expr::RecordArray<X> && expr::RecordArray<Y>)) auto where(const C& condition, const X& x,
                                                                     const Y& y) {
  return expr::apply_selected<kernels::where_op>(condition, x, y);
}
/// The same of records, of which either may be one that the host has: a new array, computed at
/// once.
template <expr::Operand C, expr::Records X, expr::Records Y>
auto where(const C& condition, const X& x, const Y& y) {
  using R = expr::record_of_t<X>;
  static_assert(std::same_as<R, expr::record_of_t<Y>>, "where takes records of one type");
  const auto chosen = eval(condition);
  const Stream& stream = detail::stream_for(chosen);
  return expr::from_words<R>(eval(
      where(expr::with_axes(chosen, 1), expr::words_of(x, stream), expr::words_of(y, stream))));
}
/// `a` clipped to [low, high]; NaN stays NaN. An integer below the range of the elements of `a` is
/// no lower bound, one above it no upper bound.
template <expr::Operand A, expr::Value L, expr::Value H>
auto clip(const A& a, const L& low, const H& high) {
  return expr::apply<kernels::clip_op>(a, expr::clip_bound<A, expr::End::lowest>(low),
                                       expr::clip_bound<A, expr::End::highest>(high));
}

/// To `decimals` places, halves to even, computed as NumPy does: x * 10^decimals is rounded and
/// divided again. Negative decimals round left of the point, also for integers, which keep their
/// type. Bools become float16.
template <expr::Operand A>
auto round(const A& a, int decimals = 0) {
  if constexpr (!expr::is_numeric<A>()) {
    return expr::refuse<A>();
  } else {
    constexpr TypeId id = expr::type_of<A>(), type = id == TypeId::bool_ ? TypeId::float16 : id;
    constexpr bool is_integer = detail::is_integer(DType(type).kind());
    using R = kernel_type_t<host_type_t<is_integer ? TypeId::float64 : detail::real_of(type)>>;
    using X = decltype(expr::tree_of<host_type_t<type>>(a));
    const double places = decimals;
    const double power = kernels::math::power(10., places < 0 ? -places : places);
    return expr::Node<expr::Call<kernels::round_places>, X, expr::Constant<R>,
                      expr::Constant<bool>>(expr::tree_of<host_type_t<type>>(a),
                                            {kernels::convert<R>(power)}, {decimals < 0});
  }
}
/// As round.
template <expr::Operand A>
auto around(const A& a, int decimals = 0) {
  return round(a, decimals);
}

// NumPy's second names.
#define QUARRY_UNARY_ALIAS(alias, row)        \
  template <expr::Operand A>                  \
  auto alias(const A& a) {                    \
    return expr::apply<kernels::row##_op>(a); \
  }
#define QUARRY_BINARY_ALIAS(alias, row) \
  template <class A, class B>           \
  requires expr::Pair<A, B>             \
  auto alias(const A& a, const B& b) { return expr::apply<kernels::row##_op>(a, b); }
#include <quarry/kernels/aliases.def>
#undef QUARRY_UNARY_ALIAS
#undef QUARRY_BINARY_ALIAS

// Operators. / divides truly (integers give float64), % has the sign of the divisor; see
// floor_divide, fmod.
#define QUARRY_OPERATOR(symbol, name)    \
  /** name() of the elements, lazily. */ \
  template <class A, class B>            \
  requires expr::Pair<A, B>              \
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
  /** name() of the elements, lazily. */       \
  template <expr::Operand A>                   \
  auto operator symbol(const A& a) {           \
    return expr::apply<kernels::name##_op>(a); \
  }
QUARRY_OPERATOR(-, negative)
QUARRY_OPERATOR(+, positive)
QUARRY_OPERATOR(!, logical_not)
QUARRY_OPERATOR(~, invert)
#undef QUARRY_OPERATOR

namespace expr {
template <class F, class T, class B>
void apply_in_place(const DeviceNDArray<T>& a, const B& b) {
  if constexpr (std::is_const_v<T>) {
    static_assert(quarry::detail::never<T>, QUARRY_READ_ONLY);
  } else {
    const auto result = apply<F>(a, b);
    require_in_place(result.shape(), a.shape());
    a.assign(result);
  }
}
}  // namespace expr

// In place, through a name or a view; the array keeps its type.
#define QUARRY_OPERATOR(symbol, name)                                                \
  /** name() in place. Throws ShapeError if the result has not the array's shape. */ \
  template <class T, expr::Value B>                                                  \
  const DeviceNDArray<T>& operator symbol(const DeviceNDArray<T>& a, const B& b) {   \
    expr::apply_in_place<kernels::name##_op>(a, b);                                  \
    return a;                                                                        \
  }                                                                                  \
  /** Does not compile: an expression has no elements. */                            \
  template <Expression A, expr::Value B>                                             \
  void operator symbol(const A& a, const B& b) {                                     \
    a = b;                                                                           \
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

namespace expr {

/// A user function of arrays is a node; of numbers, also in the body of another one, its value.
template <class F, class... X>
auto call_function(const X&... x) {
  if constexpr ((Operand<X> || ...)) {
    if constexpr (F::quarry_has_calls) {
      [[maybe_unused]] static const bool are_known =
          (kernels::require_known_calls({kernels::type_name<F>(), F::quarry_source}), true);
    }
    return call<F>(x...);
  } else {
    return F{}(x...);
  }
}

}  // namespace expr

/// A function of arrays that runs elementwise on every device and fuses like any other:
///     QUARRY_FUNCTION(saxpy, (auto a, auto x, auto y), a * x + y);
///     QUARRY_FUNCTION(smooth, (auto x), auto t = clip(x, 0.f, 1.f); return t * t * (3 - 2 * t););
///     y = saxpy(2.f, x, smooth(y));
/// The body is an expression, or statements that return. It may use its parameters, its own
/// variables, the elementwise functions of this file on numbers (except round), and functions made
/// with QUARRY_FUNCTION before it in its own or an enclosing namespace. It has C++'s types: an int
/// stays an int. Names that GPU source does not have (macros, names of std and other scopes,
/// globals) do not compile; a call of an ordinary function throws CompileError at the first use, on
/// every device. At namespace scope only.
#define QUARRY_FUNCTION(name, parameters, ...)                                                 \
  struct name##_function : ::quarry::kernels::functions {                                      \
    static constexpr const char *quarry_parameters = #parameters, *quarry_body = #__VA_ARGS__; \
    QUARRY_REQUIRE_BODY(QUARRY_TEXT(parameters), QUARRY_TEXT(__VA_ARGS__));                    \
    static constexpr bool quarry_has_statements =                                              \
        ::quarry::kernels::text::has_statements(quarry_body);                                  \
    [[maybe_unused]] static constexpr bool quarry_has_calls =                                  \
        ::quarry::kernels::text::has_calls(quarry_parameters, quarry_body);                    \
    static constexpr const char* quarry_source =                                               \
        quarry_has_statements                                                                  \
            ? "__device__ auto operator()" #parameters " const { " #__VA_ARGS__ " }"           \
            : "__device__ auto operator()" #parameters " const { return " #__VA_ARGS__ "; }";  \
    auto operator() parameters const {                                                         \
      if constexpr (quarry_has_statements) {                                                   \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wunused-value\"")    \
            __VA_ARGS__;                                                                       \
        _Pragma("GCC diagnostic pop")                                                          \
      } else {                                                                                 \
        return __extension__({ __VA_ARGS__; });                                                \
      }                                                                                        \
    }                                                                                          \
  };                                                                                           \
  inline const ::quarry::kernels::registered_function name##_registered(                       \
      {::quarry::kernels::type_name<name##_function>(), name##_function::quarry_source},       \
      name##_function::quarry_parameters, name##_function::quarry_body, __FILE__);             \
  [[maybe_unused]] inline constexpr auto name = [](const auto&... x) {                         \
    return ::quarry::expr::call_function<name##_function>(x...);                               \
  };                                                                                           \
  static_assert(true, "")

#define QUARRY_TEXT(...) #__VA_ARGS__
#define QUARRY_REQUIRE_BODY(expanded_parameters, expanded_body)                                  \
  static_assert(::quarry::kernels::text::is_same_text(quarry_parameters, expanded_parameters) && \
                    ::quarry::kernels::text::is_same_text(quarry_body, expanded_body),           \
                "a QUARRY_FUNCTION cannot use a macro, which a GPU's compiler does not know: "   \
                "pass its value");                                                               \
  static_assert(                                                                                 \
      !::quarry::kernels::text::names_a_scope(quarry_body),                                      \
      "a QUARRY_FUNCTION cannot use std:: or another scope: write sqrt(x), maximum(x, y)");      \
  static_assert(::quarry::kernels::text::names_a_scope(quarry_body) ||                           \
                    ::quarry::kernels::text::names_are_known(quarry_parameters, quarry_body),    \
                "a QUARRY_FUNCTION knows its parameters and its own variables only: pass what "  \
                "else it needs")

}  // namespace quarry
