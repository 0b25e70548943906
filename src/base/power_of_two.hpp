// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <concepts>

/// What <bit> says by counting bits, which is a call of the compiler's library on machines that
/// need not have an instruction for it, and by divisions: these stand on the way of every launch.
namespace quarry {

template <std::unsigned_integral I>
constexpr bool is_power_of_two(I n) {
  return n != 0 && (n & (n - 1)) == 0;
}

/// Whether `n` is a multiple of a power of two.
template <std::unsigned_integral I>
constexpr bool is_multiple(I n, I power_of_two) {
  return (n & (power_of_two - 1)) == 0;
}

}  // namespace quarry
