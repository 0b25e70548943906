// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

const float offset = 3;
#ifdef QUARRY_VALID
QUARRY_FUNCTION(shifted, (auto x, auto by), float wide = 2, half = wide / 4; return x + by + half;);
#else
// error: a QUARRY_FUNCTION knows its parameters and its own variables only
QUARRY_FUNCTION(shifted, (auto x), x* offset);
#endif
