// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray_base.hpp>
#include <quarry/memory/write_log.hpp>

namespace quarry::expr {

/// Throws LogicError if elements of the array, the `place`-th of its expression from the left, were
/// written after the first `made` writes. For the checked mode (QUARRY_CHECK=1).
void require_unwritten(const DeviceNDArrayBase& array, std::uint64_t made, int place);

}  // namespace quarry::expr
