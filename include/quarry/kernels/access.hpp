// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

namespace quarry::kernels {

/// How a kernel accesses input K along a vector, by the bits of its argument Wide. With bit K the
/// input is dense along the vector; else its stride is 0 there, and one element is loaded for all
/// lanes. With bit `other_step` + K too its vector has every second one of twice as many
/// elements; with that alone it is dense, and backwards. ~0u: all inputs are dense.
struct input_access {
  static constexpr int other_step = 16;
  bool is_wide, has_gaps, is_backwards;

  QUARRY_HD static constexpr input_access of(unsigned wide, int input) {
    const auto has = [=](int bit) { return bit < 32 && (wide >> bit & 1u) != 0; };
    if (wide == ~0u) return {true, false, false};
    const bool is_first = input < other_step && has(input), is_second = has(other_step + input);
    return {is_first, is_first && is_second, !is_first && is_second};
  }
  QUARRY_HD constexpr bool moves() const { return is_wide || is_backwards; }
  /// The first of so many inputs that is wide, if one is.
  QUARRY_HD static constexpr int first(unsigned wide, int inputs) {
    int input = 0;
    while (input < inputs - 1 && !of(wide, input).is_wide) ++input;
    return input;
  }
};

/// The alignment of a vector of so many bytes: all of them if they are a power of two, otherwise
/// the largest one up to 16 that they are a multiple of.
QUARRY_HD constexpr u64 vector_alignment(u64 bytes) {
  const u64 least = bytes & (~bytes + 1);
  return least == bytes || least < 16 ? least : 16;
}

}  // namespace quarry::kernels
