// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/emulated_kernels.hpp"

namespace quarry::test {

/// Those of a type that comparisons may get wrong: zeros with a sign, what is not a number, the
/// least and the largest.
template <class T>
std::vector<T> values_at_edges() {
  std::vector<T> values{kernels::convert<T>(0), kernels::convert<T>(1),
                        kernels::limits<T>::lowest(), kernels::limits<T>::highest()};
  if constexpr (kernels::is_same<T, float> || kernels::is_same<T, kernels::float16> ||
                kernels::is_same<T, kernels::bfloat16>) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float x : {-0.f, -1.f, infinity, -infinity, std::nanf(""), -std::nanf("")}) {
      values.push_back(kernels::convert<T>(x));
    }
  } else if constexpr (kernels::is_signed<T>) {
    values.push_back(static_cast<T>(-1));
  }
  return values;
}

}  // namespace quarry::test
