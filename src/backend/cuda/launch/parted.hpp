// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "backend/cuda/launch/launch.hpp"

/// Maps whose single elements of a side operand are accessed part by part (kernels/map_parted.cuh).
namespace quarry::backend::cuda {

/// Runs a map along one axis that reads or replaces one element of a side operand for each of its
/// own, where the operand is larger than the cache and there are enough accesses to be worth
/// sorting. Returns false for others, and where there is no memory for it.
bool launch_parted(const Launcher& launcher);

}  // namespace quarry::backend::cuda
