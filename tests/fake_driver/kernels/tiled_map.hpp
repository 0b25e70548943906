// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "fake_driver/kernels/kernel.hpp"

namespace quarry::fake {

/// map_tiled: element by element, at the addresses that the tiles give.
CUresult run_tiled(const Launch& launch);

}  // namespace quarry::fake
