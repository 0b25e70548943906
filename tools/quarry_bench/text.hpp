// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <vector>

#include "tools/quarry_bench/results.hpp"

/// Results as text: figures, lines of a table, JSON.
namespace bench {

/// "7.25 us"
std::string duration_text(double seconds);
/// "55.4"
std::string rate_text(double bytes_per_second);
/// "0.93", or empty for 0
std::string share_text(double share);

/// Who measured what where, and what the link gives: some lines.
std::string heading(const Results& results);
std::string transfer_heading();
std::string transfer_line(const TransferRow& row);
/// One workload with every resource, in the order of `names`.
std::string allocation_heading(const std::vector<std::string>& names);
std::string allocation_line(const std::vector<AllocationRow>& rows);
/// The row's time over the driver pool's; 0 without one.
double share_of_driver_pool(const std::vector<AllocationRow>& rows, const std::string& resource);

std::string to_json(const Results& results);

}  // namespace bench
