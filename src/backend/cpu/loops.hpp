// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/kernel_call.hpp"

/// The families on the CPU, on the calling thread and the pool: done on return. Results do not
/// depend on the number of threads: what is cut into chunks is cut by shapes alone, and
/// accumulators are combined as a balanced tree in order. Throw MemoryError when there is no room
/// for them.
namespace quarry::backend::cpu_backend {

#define QUARRY_FAMILY(name) void name##_now(const KernelCall& call);
#include <quarry/kernels/families.def>
#undef QUARRY_FAMILY

/// The call's own.
void run_now(const KernelCall& call);

}  // namespace quarry::backend::cpu_backend
