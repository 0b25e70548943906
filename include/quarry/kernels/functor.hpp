// SPDX-License-Identifier: BSD-3-Clause
#pragma once
// One stateless type for each row of ops.def. `add_op::apply<L>(a, b)` converts its operands to the
// loop's type L, which the domain chose on the host, and returns the result.

#ifdef QUARRY_REAL_NUMBERS_ONLY  // in the source of a kernel
#include <quarry/kernels/math.hpp>
#else
#include <quarry/kernels/complex_wide.hpp>
#endif

namespace quarry::domains {
struct any;
struct numeric;
struct arithmetic;
struct real;
struct floating;
struct inexact;
struct quotient;
struct integral;
struct shift;
struct logical;
struct compare;
struct keep;
struct predicate;
struct select;
}  // namespace quarry::domains

namespace quarry::kernels {

// Integers of mixed sign have no common type in general; their comparison goes by their order
// against 0.
template <class Domain, class A, class B>
QUARRY_HD constexpr bool compares_mixed_signs() {
  return is_same<Domain, domains::compare> && is_integer<A> && is_integer<B> &&
         is_signed<A> != is_signed<B>;
}

#ifdef __CUDACC_RTC__
#define QUARRY_OPERATION_NAME(operation)
#else
#define QUARRY_OPERATION_NAME(operation) static constexpr const char* name = #operation;
#endif

template <class Operation, class Domain>
struct unary {
  using domain = Domain;
  template <class L, class A>
  QUARRY_HD static auto apply(A a) {
    return Operation::compute(convert<L>(a));
  }
};

template <class Operation, class Domain>
struct binary {
  using domain = Domain;
  template <class L, class A, class B>
  QUARRY_HD static auto apply(A a, B b) {
    if constexpr (compares_mixed_signs<Domain, A, B>())
      return Operation::compute(math::order(a, b), 0);
    else
      return Operation::compute(convert<L>(a), convert<L>(b));
  }
};

template <class Operation, class Domain>
struct ternary {
  using domain = Domain;
  template <class L, class A, class B, class C>
  QUARRY_HD static auto apply(A a, B b, C c) {
    if constexpr (is_same<Domain, domains::select>) {
      return Operation::compute(convert<bool>(a), convert<L>(b), convert<L>(c));
    } else
      return Operation::compute(convert<L>(a), convert<L>(b), convert<L>(c));
  }
};

#define QUARRY_UNARY(operation, domain_name, ...)                       \
  struct operation##_op : unary<operation##_op, domains::domain_name> { \
    QUARRY_OPERATION_NAME(operation)                                    \
    QUARRY_HD static auto compute(auto x) { return __VA_ARGS__; }       \
  };
#define QUARRY_BINARY(operation, domain_name, ...)                        \
  struct operation##_op : binary<operation##_op, domains::domain_name> {  \
    QUARRY_OPERATION_NAME(operation)                                      \
    QUARRY_HD static auto compute(auto x, auto y) { return __VA_ARGS__; } \
  };
#define QUARRY_TERNARY(operation, domain_name, ...)                               \
  struct operation##_op : ternary<operation##_op, domains::domain_name> {         \
    QUARRY_OPERATION_NAME(operation)                                              \
    QUARRY_HD static auto compute(auto x, auto y, auto z) { return __VA_ARGS__; } \
  };
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY
#undef QUARRY_OPERATION_NAME

/// isclose, for operands of one type: the tolerance is relative to b, and an infinity is close to
/// itself alone.
struct within {
  template <class T, class R>
  QUARRY_HD bool operator()(T a, T b, R rtol, R atol, bool equal_nan) const {
    if (math::isfinite(b)) return math::abs(math::subtract(a, b)) <= atol + rtol * math::abs(b);
    return a == b || (equal_nan && math::isnan(a) && math::isnan(b));
  }
};

/// Sums that do not depend on the order of the values: of those that meet at an element, the bits
/// of the largest magnitude (`peak`, -1 where there are none) are known, and each is an integer of
/// `bits` bits relative to it; what is less than a unit is one of as many bits again (Limb 1).
struct peak_of {
  template <class T>
  QUARRY_HD i64 operator()(T x) const {
    return bits_as<i64>(static_cast<double>(x)) & static_cast<i64>(~u64{0} >> 1);
  }
};
struct fixed_scale {
  static constexpr i64 infinity = i64{0x7ff} << 52, negatives = i64{1} << 40;
  i64 exponent;  ///< of the unit
  QUARRY_HD fixed_scale(i64 peak, i64 bits) : exponent((peak >> 52) - 1022 - bits) {}
  QUARRY_HD static double power(i64 e) { return bits_as<double>((e + 1023) << 52); }
  QUARRY_HD static double scaled(double x, i64 e) { return x * power(e / 2) * power(e - e / 2); }
};
template <int Limb>
struct fixed_point {
  template <class T>
  QUARRY_HD i64 operator()(T value, i64 peak, i64 bits) const {
    const double x = static_cast<double>(value);
    if (peak >= fixed_scale::infinity) {  // infinities are counted
      if (Limb > 0 || x - x == 0) return 0;
      return x > 0 ? 1 : fixed_scale::negatives;
    }
    const double units = fixed_scale::scaled(x, -fixed_scale(peak, bits).exponent);
    const double whole = math::rint(units);
    if constexpr (Limb == 0) return static_cast<i64>(whole);
    return static_cast<i64>(math::rint((units - whole) * fixed_scale::power(bits)));
  }
};
/// The element and the sum of the values.
struct fixed_sum {
  template <class T>
  QUARRY_HD T operator()(T element, i64 peak, i64 high, i64 low, i64 bits) const {
    if (peak < 0) return element;
    const double a = static_cast<double>(element);
    if (peak >= fixed_scale::infinity) {
      const bool has_minus = high / fixed_scale::negatives != 0,
                 has_plus = high % fixed_scale::negatives != 0;
      const double infinity = bits_as<double>(fixed_scale::infinity);
      if (peak > fixed_scale::infinity || (has_minus && has_plus)) {
        return convert<T>(infinity - infinity);
      }
      return convert<T>(a + (has_minus ? -infinity : infinity));
    }
    const i64 e = fixed_scale(peak, bits).exponent;
    const double head = static_cast<double>(high),
                 tail = static_cast<double>(high - static_cast<i64>(head)) +
                        static_cast<double>(low) * fixed_scale::power(-bits);
    const double large = fixed_scale::scaled(head, e), total = a + large;
    if (total - total != 0) return convert<T>(total);
    const double part = total - a, lost = (a - (total - part)) + (large - part);
    return convert<T>(total + (lost + fixed_scale::scaled(tail, e)));
  }
};

/// NumPy's round to decimal places: rint(x * power) / power, where `power` is a power of ten; to
/// the left of the point (is_left) rint(x / power) * power. Integers change only there, and their
/// power is a double.
struct round_places {
  template <class T, class R>
  QUARRY_HD T operator()(T x, R power, bool is_left) const {
    if constexpr (is_complex<T>)
      return {(*this)(x.re, power, is_left), (*this)(x.im, power, is_left)};
    else if constexpr (is_integer<T>)
      return is_left ? convert<T>((*this)(convert<R>(x), power, true)) : x;
    else if (is_left)
      return math::multiply(math::rint(math::divide(x, power)), power);
    else
      return math::divide(math::rint(math::multiply(x, power)), power);
  }
};

}  // namespace quarry::kernels
