// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include "tools/quarry_bench/results.hpp"
#include "tools/sampling.hpp"
#include "tools/workloads.hpp"

namespace bench {

/// What is compared on a device: a pool of Quarry's of its own, the driver's pool, driver calls,
/// and a resource that does nothing, whose times are those of the loop. Without the driver's on the
/// CPU.
std::vector<Candidate> candidates(const quarry::Device& device);

/// What is to be measured, without a time yet.
AllocationRow unmeasured(const Workload& workload, const Candidate& candidate);
/// An exception becomes the row's `error`. Gives cached memory back afterwards.
AllocationRow measure(const Workload& workload, const Candidate& candidate,
                      const Sampling& sampling);

}  // namespace bench
