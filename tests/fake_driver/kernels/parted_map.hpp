// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include "fake_driver/kernels/kernel.hpp"

namespace quarry::fake {

/// The operand whose elements map_parted accesses by parts: the side operand that does not move.
int parted_operand(const Launch& launch, const Operands& operands);

/// Empty when the blocks of a step cover the map and its parts, which are all places of operand k,
/// and the steps have memory for what they leave.
std::string wrong_parts(const Launch& launch, const kernels::parted& parts, int k);

}  // namespace quarry::fake
