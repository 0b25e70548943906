// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/kernels/node.hpp>

namespace quarry::kernels {

/// What the check that is ahead of a map of inputs In has found, or 0.
template <class... In, class P>
__device__ i64 found_by_check(const P& p) {
  if constexpr ((is_side_operand<In> || ...)) {
    if (const auto at = reinterpret_cast<const i64*>(p.chunk())) return *at;
  }
  return 0;
}

}  // namespace quarry::kernels
