// SPDX-License-Identifier: BSD-3-Clause
// Included by a file that defines CONFORMANCE_SUITE and CONFORMANCE_TYPES: a test for every binary
// row of ops.def over an array of each of these types and a plain number, on either side, against
// what NumPy makes of it (make_scalar_cases.py): the type of the result, its values, and which
// numbers are refused.
#include "conformance/scalar_cases.hpp"

#include <complex>
#include <cstdint>

#include <gtest/gtest.h>
#include <Eigen/Core>

namespace quarry::conformance {
namespace {

/// An expression of one element, which is known here: no kernel has to be compiled for it.
template <class T>
struct Element {
  using quarry_expression = void;
  using kernel_type = kernel_type_t<T>;
  using value_type = T;
  kernel_type value;
  Shape shape() const { return {}; }
};

}  // namespace
}  // namespace quarry::conformance
template <class T>
inline constexpr bool quarry::expr::is_tree<quarry::conformance::Element<T>> = true;
namespace quarry::conformance {
namespace {

template <class F, class L, class A, class B>
auto value_of(const expr::Node<expr::Apply<F, L>, A, B>& node) {
  return node.arguments().apply(
      [](const auto& a, const auto& b) { return F::template apply<L>(a.value, b.value); });
}

template <class T, class S, bool IsLeft, class F>
struct Computed {
  static auto node(const T& element, const S& number) {
    const Element<T> array{kernels::load<kernel_type_t<T>>(&element)};
    if constexpr (IsLeft) {
      return F{}(number, array);
    } else {
      return F{}(array, number);
    }
  }
  static void compute(const void* element, const void* number, void* out) {
    const auto value =
        value_of(node(*static_cast<const T*>(element), *static_cast<const S*>(number)));
    std::memcpy(out, &value, sizeof value);
  }
};

template <class Op, class T, class S, bool IsLeft, class F>
void check_side() {
  constexpr TypeId loop = IsLeft ? expr::loop_beside<typename Op::domain, S, Element<T>>()
                                 : expr::loop_beside<typename Op::domain, Element<T>, S>();
  if constexpr (loop == domains::no_loop) {
    check_numbers(Op::name, dtype_of<T>, dtype_of<S>, IsLeft, domains::no_loop, nullptr);
  } else {
    using C = Computed<T, S, IsLeft, F>;
    using Node = decltype(C::node(T(), S()));
    check_numbers(Op::name, dtype_of<T>, dtype_of<S>, IsLeft,
                  dtype_of<typename Node::value_type>.id(), C::compute);
  }
}

template <class Op, class F, class T, class... S>
void check_numbers_of() {
  (check_side<Op, T, S, false, F>(), ...);
  (check_side<Op, T, S, true, F>(), ...);
}
template <class Op, class... T, class F>
void check_all(F) {
  (check_numbers_of<Op, F, T, bool, std::int64_t, std::uint64_t, double, std::complex<double>>(),
   ...);
}

#define QUARRY_UNARY(operation, domain, ...)
#define QUARRY_BINARY(operation, domain, ...)                                  \
  TEST(CONFORMANCE_SUITE, operation) {                                         \
    check_all<kernels::operation##_op, CONFORMANCE_TYPES>(                     \
        [](const auto& a, const auto& b) { return quarry::operation(a, b); }); \
  }
#define QUARRY_TERNARY(operation, domain, ...)
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY

}  // namespace
}  // namespace quarry::conformance
