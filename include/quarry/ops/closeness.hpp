// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/reduce.hpp>

/// NumPy's isclose, allclose and array_equal.
namespace quarry {

/// The tolerances, as NumPy's arguments.
struct ClosenessOptions {
  double rtol = 1e-5;      ///< of |b|
  double atol = 1e-8;      ///< absolute
  bool equal_nan = false;  ///< NaN is close to NaN
};
/// Of array_equal.
struct EqualityOptions {
  bool equal_nan = false;  ///< NaN equals NaN
};

namespace expr {

template <class X>
consteval bool is_complex_scalar() {
  if constexpr (Scalar<X>) return dtype_of<X>.kind() == Kind::complex;
  return false;
}
/// The type in which closeness is measured: the common one, at least float32, and float64 for bools
/// and integers.
template <class... X>
consteval TypeId measured_type() {
  const TypeId common = promote_arrays({type_of<X>()...});
  const bool complex = (is_complex_scalar<X>() || ...);
  const TypeId type = promote_weak(common, complex ? Kind::complex : Kind::floating);
  return DType(type).itemsize() == 2 ? TypeId::float32 : type;
}

/// An operand in the type T of the measurement.
template <class T, class X>
auto measured(const X& x) {
  using K = kernel_type_t<T>;
  if constexpr (Scalar<X>) {
    return Constant<K>{quarry::detail::scalar_as<K>(x)};
  } else {
    return tree_of<T>(x);
  }
}

}  // namespace expr

/// Whether |a - b| <= atol + rtol * |b|, element for element; lazy. Half precision is measured in
/// float32.
template <class A, class B>
requires expr::Pair<A, B>
auto isclose(const A& a, const B& b, const ClosenessOptions& options = {}) {
  if constexpr (!(expr::is_numeric<A>() && expr::is_numeric<B>())) {
    return expr::refuse<A, B>();
  } else {
    constexpr TypeId type = expr::measured_type<A, B>();
    using T = host_type_t<type>;
    using R = kernel_type_t<host_type_t<detail::real_of(type)>>;
    using Number = expr::Constant<R>;
    using X = decltype(expr::measured<T>(a));
    using Y = decltype(expr::measured<T>(b));
    using Within = expr::Call<kernels::within>;
    return expr::Node<Within, X, Y, Number, Number, expr::Constant<bool>>(
        expr::measured<T>(a), expr::measured<T>(b), Number{static_cast<R>(options.rtol)},
        Number{static_cast<R>(options.atol)}, expr::Constant<bool>{options.equal_nan});
  }
}

/// Whether all elements are close; waits for the result. Throws ShapeError where shapes do not
/// broadcast.
template <class A, class B>
requires expr::Pair<A, B>
bool allclose(const A& a, const B& b, const ClosenessOptions& options = {}) {
  return all_of(isclose(a, b, options)).item();
}

/// Whether shapes and elements are equal; waits for the result.
template <expr::Operand A, expr::Operand B>
bool array_equal(const A& a, const B& b, const EqualityOptions& options = {}) {
  if (!(a.shape() == b.shape())) return false;
  if constexpr (Number<typename A::value_type> && Number<typename B::value_type>) {
    if (options.equal_nan) return all_of(a == b || (isnan(a) && isnan(b))).item();
  }
  return all_of(a == b).item();
}

}  // namespace quarry
