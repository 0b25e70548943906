// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <functional>

#include "fake_driver/kernels/kernel.hpp"

namespace quarry::fake {

/// Calls `run`, which runs a map, unless the check of its positions that is ahead of it has found
/// something. A map into what nobody else has may check its positions itself, and leave the result
/// for the host, and at `word` if that is not 0. `wide`: as of the kernel's name.
CUresult run_checked(const Launch& launch, const Operands& operands, int wide, std::int64_t word,
                     const std::function<CUresult()>& run);

}  // namespace quarry::fake
