// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <type_traits>

#include <quarry/kernels/cpu_context.hpp>
#include <quarry/kernels/node.hpp>
#include <quarry/kernels/picks.hpp>

/// Quotients of integers of 64 bits in the CPU's loops for AVX2, which converts them to no floating
/// numbers: divided one by one, or multiplied by the inverse of a number.
namespace quarry::kernels {

inline i64 floor_quotient_alone(i64 x, i64 y) {
  if (y == 0) return 0;
  if (y == -1) return math::wrapped_negative(x);
  const i64 quotient = x / y, is_inexact = x - quotient * y != 0 ? 1 : 0;
  return quotient - (is_inexact & ((x ^ y) < 0 ? 1 : 0));
}

__extension__ using u128 = unsigned __int128;
/// 2^(64 + bits) / divisor, rounded upwards. A loop calls it once: it depends on nothing else.
[[gnu::const, gnu::noinline]] inline u64 inverse_of(u64 divisor, int bits) {
  return static_cast<u64>((u128{1} << (64 + bits)) / divisor) + 1;
}
/// x / y rounded downwards by the upper half of a product, as compilers divide by constants
/// (Granlund and Montgomery). A negative number n is divided as -1 - n, so that dividends have 63
/// bits.
inline i64 floor_quotient_by_number(i64 x, i64 y) {
  const u64 sign = math::filled<u64>(y < 0), divisor = (static_cast<u64>(y) ^ sign) - sign;
  const u64 usual = math::filled<u64>(divisor > 1);  // no choice: compilers make branches of them
  const u64 d = (divisor & usual) | (2 & ~usual);
  const int bits = 63 - __builtin_clzl(d - 1);  // 2^bits < d <= 2^(bits + 1)
  const u64 inverse = inverse_of(d, bits);
  if (usual == 0 || x == limits<i64>::lowest()) return floor_quotient_alone(x, y);
  const u64 dividend = (static_cast<u64>(x) ^ sign) - sign;
  const u64 negative = math::filled<u64>(static_cast<i64>(dividend) < 0);
  const u64 above = static_cast<u64>((u128{dividend ^ negative} * inverse) >> 64);
  return static_cast<i64>((above >> bits) ^ negative);
}
#ifdef __clang__  // which would compute the inverse for every element
inline constexpr bool inverts_once = false;
#else
inline constexpr bool inverts_once = true;
#endif

template <class F>
inline constexpr bool is_division = is_same<F, floor_divide_op> || is_same<F, remainder_op>;

template <class F, class A, class B>
requires(is_division<F>) struct op<F, i64, A, B> {
  template <class C>
  auto operator()(const C& c) const {
    if constexpr (is_same<C, context_without_wide>) {
      const i64 x = convert<i64>(A{}(c)), y = convert<i64>(B{}(c));
      const i64 quotient = is_constant<B> && inverts_once ? floor_quotient_by_number(x, y)
                                                          : floor_quotient_alone(x, y);
      if constexpr (is_same<F, floor_divide_op>) return quotient;
      const i64 rest = math::subtract(x, math::multiply(quotient, y));
      return y == 0 ? i64{} : rest;
    } else {
      return F::template apply<i64>(A{}(c), B{}(c));
    }
  }
};

/// Whether there are such quotients in an expression.
template <class E>
inline constexpr bool divides_wide = false;
template <class F, class L, class... A>
inline constexpr bool divides_wide<op<F, L, A...>> = (is_division<F> && is_same<L, i64>) ||
                                                     (divides_wide<A> || ...);
template <class F, class... A>
inline constexpr bool divides_wide<call<F, A...>> = (divides_wide<A> || ...);
template <class T, class A>
inline constexpr bool divides_wide<cast<T, A>> = divides_wide<A>;
template <class... E>
inline constexpr bool divides_wide<several<E...>> = (divides_wide<E> || ...);

#if defined(__x86_64__) && !defined(__AVX512DQ__)
template <class E>
using context_of_32_bytes =
    std::conditional_t<divides_wide<E>, context_without_wide, dense_context>;
#else
template <class E>
using context_of_32_bytes = dense_context;
#endif

}  // namespace quarry::kernels
