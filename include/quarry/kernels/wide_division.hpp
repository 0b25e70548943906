// SPDX-License-Identifier: BSD-3-Clause
#pragma once
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

/// What op<F, i64, A, B> computes.
template <class F, class A, class B>
struct wide_division {
  template <class C>
  auto operator()(const C& c) const {
    const i64 x = convert<i64>(A{}(c)), y = convert<i64>(B{}(c));
    const i64 quotient = is_constant<B> && inverts_once ? floor_quotient_by_number(x, y)
                                                        : floor_quotient_alone(x, y);
    if constexpr (is_same<F, floor_divide_op>) return quotient;
    const i64 rest = math::subtract(x, math::multiply(quotient, y));
    return y == 0 ? i64{} : rest;
  }
};

/// An expression with those in it.
template <class E>
struct with_wide_division {
  using type = E;
};
template <class F, class L, class... A>
struct with_wide_division<op<F, L, A...>> {
  using type = op<F, L, typename with_wide_division<A>::type...>;
};
template <class F, class A, class B>
requires(is_division<F>) struct with_wide_division<op<F, i64, A, B>> {
  using type =
      wide_division<F, typename with_wide_division<A>::type, typename with_wide_division<B>::type>;
};
template <class F, class... A>
struct with_wide_division<call<F, A...>> {
  using type = call<F, typename with_wide_division<A>::type...>;
};
template <class T, class A>
struct with_wide_division<cast<T, A>> {
  using type = cast<T, typename with_wide_division<A>::type>;
};
template <class... E>
struct with_wide_division<several<E...>> {
  using type = several<typename with_wide_division<E>::type...>;
};

/// An expression as loops with vectors of 32 bytes compute it.
#if defined(__x86_64__) && !defined(__AVX512DQ__)
template <class E>
using of_32_bytes = typename with_wide_division<E>::type;
#else
template <class E>
using of_32_bytes = E;
#endif

}  // namespace quarry::kernels
