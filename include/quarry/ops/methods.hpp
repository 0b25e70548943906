// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/reduce.hpp>

/// Definitions for array/methods.hpp.
namespace quarry {

#define QUARRY_REDUCTION(name, function, ...)                                              \
  /** The same over all axes. */                                                           \
  template <expr::Operand X, std::same_as<ReduceOptions> O = ReduceOptions>                \
  auto function(const X& x, const O& options) {                                            \
    return quarry::function(x, ReduceAxes(), options);                                     \
  }                                                                                        \
  template <class A>                                                                       \
  auto ArrayMethods<A>::name(const ReduceAxes& axes, const ReduceOptions& options) const { \
    return quarry::function(static_cast<const A&>(*this), axes, options);                  \
  }
#define QUARRY_LOCATION QUARRY_REDUCTION
#include <quarry/kernels/reductions.def>
#undef QUARRY_REDUCTION
#undef QUARRY_LOCATION

template <class A>
template <AxesArgument I>
auto ArrayMethods<A>::var(const I& axes, const VarianceOptions& options) const {
  return quarry::var(static_cast<const A&>(*this), axes, options);
}
template <class A>
auto ArrayMethods<A>::var(const VarianceOptions& options) const {
  return quarry::var(static_cast<const A&>(*this), options);
}
template <class A>
template <AxesArgument I>
auto ArrayMethods<A>::std(const I& axes, const VarianceOptions& options) const {
  return quarry::std(static_cast<const A&>(*this), axes, options);
}
template <class A>
auto ArrayMethods<A>::std(const VarianceOptions& options) const {
  return quarry::std(static_cast<const A&>(*this), options);
}
template <class A>
auto ArrayMethods<A>::real() const {
  return quarry::real(static_cast<const A&>(*this));
}
template <class A>
auto ArrayMethods<A>::imag() const {
  return quarry::imag(static_cast<const A&>(*this));
}
template <class A>
auto ArrayMethods<A>::conj() const {
  return quarry::conj(static_cast<const A&>(*this));
}
template <class A>
auto ArrayMethods<A>::round(int decimals) const {
  return quarry::round(static_cast<const A&>(*this), decimals);
}
template <class A>
template <class L, class H>
auto ArrayMethods<A>::clip(const L& low, const H& high) const {
  return quarry::clip(static_cast<const A&>(*this), low, high);
}

/// Does not compile: the larger of two is maximum(a, b).
template <expr::Operand A, class B>
requires(expr::Operand<B> || std::floating_point<B>) auto max(const A& a, const B&) {
  static_assert(detail::never<B>, "max(a, axes) reduces: the larger of two is maximum(a, b)");
  return a;
}
/// Does not compile: the smaller of two is minimum(a, b).
template <expr::Operand A, class B>
requires(expr::Operand<B> || std::floating_point<B>) auto min(const A& a, const B&) {
  static_assert(detail::never<B>, "min(a, axes) reduces: the smaller of two is minimum(a, b)");
  return a;
}

}  // namespace quarry
