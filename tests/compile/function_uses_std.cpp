// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <algorithm>

#ifdef QUARRY_VALID
QUARRY_FUNCTION(larger, (auto x, auto y), maximum(x, y));
#else
// error: a QUARRY_FUNCTION cannot use std:: or another scope
QUARRY_FUNCTION(larger, (auto x, auto y), std::max(x, y));
#endif
