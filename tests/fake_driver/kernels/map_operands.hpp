// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include "fake_driver/kernels/kernel.hpp"

/// What kernels of maps want of their operands.
namespace quarry::fake {

/// Whether operand k lies as the outputs do, all rows one after another.
bool is_dense(const Launch& launch, const Operands& operands, int k);
/// Whether all rows of output k are as far from a vector as those of the first one.
bool is_congruent(const Launch& launch, const Operands& operands, int k, std::uint64_t vector);
/// Whether a side operand is read only at whole elements from its window.
bool has_whole_steps(const Launch& launch, int k);
/// Whether a constant is stored into whole rows of a dense output.
bool has_masked_rows(const Launch& launch, const Operands& operands);
/// Empty when a grid of map_masked_rows covers all rows, in a way that the kernel has.
std::string wrong_masked_rows(const Launch& launch, const Operands& operands);

}  // namespace quarry::fake
