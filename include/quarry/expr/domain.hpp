// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// The domains of ops.def: for which element types an operation exists, and in which type its loop
// then runs. The rules are NumPy 2's; `Domain::resolve(a, b)` and `Domain::loop<a, b>()` give the
// loop's type or no_loop.

#include <quarry/base/promote.hpp>

namespace quarry::domains {

/// No loop: the operation does not exist for these operands. Records have no loop of any kind.
inline constexpr TypeId no_loop = TypeId::record;

namespace detail {

constexpr Kind kind_of(TypeId id) { return DType(id).kind(); }
constexpr bool is_exact(TypeId id) { return kind_of(id) <= Kind::unsigned_integer; }

/// The smallest floating type that holds a bool or an integer; other types stay.
constexpr TypeId floated(TypeId id) {
  return is_exact(id) ? quarry::detail::floating_for_integer(DType(id).itemsize()) : id;
}

constexpr TypeId common(TypeId id) { return id; }
constexpr TypeId common(TypeId id, auto... others) { return promote(id, common(others...)); }

template <class Rule>
struct Domain {
  template <TypeId... operands>
  static consteval TypeId loop() {
    return ((operands == TypeId::record) || ...) ? no_loop : Rule::resolve(operands...);
  }
};

}  // namespace detail

/// Every type; the loop runs in the common one.
struct any : detail::Domain<any> {
  static constexpr TypeId resolve(auto... operands) { return detail::common(operands...); }
};

/// Any but bool alone.
struct numeric : detail::Domain<numeric> {
  static constexpr TypeId resolve(auto... operands) {
    const TypeId common = detail::common(operands...);
    return common == TypeId::bool_ ? no_loop : common;
  }
};

/// Any; bools count as int8.
struct arithmetic : detail::Domain<arithmetic> {
  static constexpr TypeId resolve(auto... operands) {
    const TypeId common = detail::common(operands...);
    return common == TypeId::bool_ ? TypeId::int8 : common;
  }
};

/// No complex; bools count as int8.
struct real : detail::Domain<real> {
  static constexpr TypeId resolve(auto... operands) {
    const TypeId common = arithmetic::resolve(operands...);
    return detail::kind_of(common) == Kind::complex ? no_loop : common;
  }
};

/// Floating and complex types; each bool or integer becomes the smallest floating type that holds
/// it.
struct inexact : detail::Domain<inexact> {
  static constexpr TypeId resolve(TypeId a) { return detail::floated(a); }
  static constexpr TypeId resolve(TypeId a, TypeId b) {
    const bool exact = detail::is_exact(a) && detail::is_exact(b);
    return exact ? promote(detail::floated(a), detail::floated(b)) : promote(a, b);
  }
};

/// As inexact, without complex.
struct floating : detail::Domain<floating> {
  static constexpr TypeId resolve(auto... operands) {
    const TypeId common = inexact::resolve(operands...);
    return detail::kind_of(common) == Kind::complex ? no_loop : common;
  }
};

/// As any, but float64 if all are bools or integers.
struct quotient : detail::Domain<quotient> {
  static constexpr TypeId resolve(auto... operands) {
    const TypeId common = detail::common(operands...);
    return detail::is_exact(common) ? TypeId::float64 : common;
  }
};

/// Bools and integers.
struct integral : detail::Domain<integral> {
  static constexpr TypeId resolve(auto... operands) {
    const TypeId common = detail::common(operands...);
    return detail::is_exact(common) ? common : no_loop;
  }
};

/// Bools and integers; bools count as int8.
struct shift : detail::Domain<shift> {
  static constexpr TypeId resolve(auto... operands) {
    return integral::resolve(arithmetic::resolve(operands...));
  }
};

/// Every type, each operand by itself as a truth value.
struct logical : detail::Domain<logical> {
  static constexpr TypeId resolve(auto...) { return TypeId::bool_; }
};

/// As any. The functor compares integers of mixed sign exactly, whatever the loop's type is.
struct compare : any {};

/// Rounding: not for complex types, bools and integers stay unchanged.
struct keep : detail::Domain<keep> {
  static constexpr TypeId resolve(TypeId operand) {
    return detail::kind_of(operand) == Kind::complex ? no_loop : operand;
  }
};

/// Questions about one value, in its own type.
struct predicate : any {};

/// The first operand is a condition; the others are converted to their common type.
struct select : detail::Domain<select> {
  static constexpr TypeId resolve(TypeId, auto... operands) { return any::resolve(operands...); }
};

}  // namespace quarry::domains
