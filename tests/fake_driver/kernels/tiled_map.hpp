// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "fake_driver/kernels/early_reads.hpp"
#include "fake_driver/kernels/kernel.hpp"

namespace quarry::fake {

/// map_tiled: element by element, at the addresses that the tiles give.
CUresult run_tiled(const Launch& launch);
/// What it accesses of an operand.
Bytes bytes_of_tiled(const Launch& launch, int operand);

}  // namespace quarry::fake
