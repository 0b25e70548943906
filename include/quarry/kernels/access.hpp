// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/types.hpp>

namespace quarry::kernels {

/// How a kernel accesses input K along a vector, by the bits of its argument Wide. With bit K the
/// input is dense along the vector; else its stride is 0 there, and one element is loaded for all
/// lanes. With bit `every_second` + K too its vector has every second one of twice as many
/// elements. ~0u: all inputs are dense.
struct input_access {
  static constexpr int every_second = 16;
  bool is_wide, has_gaps;

  QUARRY_HD static constexpr input_access of(unsigned wide, int input) {
    const auto has = [=](int bit) { return bit < 32 && (wide >> bit & 1u) != 0; };
    if (wide == ~0u) return {true, false};
    return {input < every_second && has(input), has(every_second + input)};
  }
  /// The first of so many inputs that is wide, if one is.
  QUARRY_HD static constexpr int first(unsigned wide, int inputs) {
    int input = 0;
    while (input < inputs - 1 && !of(wide, input).is_wide) ++input;
    return input;
  }
};

}  // namespace quarry::kernels
