// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#define OFFSET 3.f
#ifdef QUARRY_VALID
QUARRY_FUNCTION(shifted, (auto x), x + 3.f);
#else
// error: a QUARRY_FUNCTION cannot use a macro
QUARRY_FUNCTION(shifted, (auto x), x + OFFSET);
#endif
