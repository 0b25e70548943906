// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/backend.hpp"

/// Kernels on the CPU, on the calling thread and the pool: done on return.
namespace quarry::backend::cpu_backend {

void map_now(const MapCall& call);

/// The reduced elements are cut into chunks whose size depends on the shape only, and the chunks'
/// accumulators are combined as a balanced tree in order: the result does not depend on the number
/// of threads. Throws MemoryError when there is no room for the accumulators.
void reduce_now(const ReduceCall& call);

}  // namespace quarry::backend::cpu_backend
