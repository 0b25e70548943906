// SPDX-License-Identifier: BSD-3-Clause
// flags: -ffinite-math-only
#ifdef QUARRY_VALID
#define QUARRY_ALLOW_FAST_MATH
#endif
#include <quarry/quarry.hpp>

// error: compile without -ffast-math
auto f(const quarry::DeviceNDArray<float>& a) { return quarry::isnan(a); }
