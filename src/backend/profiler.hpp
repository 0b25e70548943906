// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"

namespace quarry::backend {

/// Tells the profiler that is attached to begin or end recording; of the CPU device it does
/// nothing. Throws LogicError where the driver has no such functions.
void set_profiling(Device& device, bool is_on);

}  // namespace quarry::backend
