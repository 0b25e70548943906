// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <vector>

#include "tools/quarry_bench/results.hpp"

namespace bench {

/// The plots of the page, as SVG; those without anything to show are left out.
std::vector<std::string> transfer_plots(const Results& results);
std::vector<std::string> allocation_plots(const Results& results);

/// The rows of each workload together, in the order of the first.
std::vector<std::vector<AllocationRow>> by_workload(const std::vector<AllocationRow>& rows);

}  // namespace bench
