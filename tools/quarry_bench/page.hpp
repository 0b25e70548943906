// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include "tools/quarry_bench/results.hpp"

namespace bench {

/// The results as one HTML page that needs nothing else: plots (SVG) and the tables.
std::string to_page(const Results& results);

}  // namespace bench
