// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <quarry/ranked.hpp>

auto f(const quarry::RankedNDArray<float, 2>& a) {
#ifdef QUARRY_VALID
  return a(0, 1, quarry::newaxis);
#else
  return a(0, 1, 2);  // one error: there are more indices than axes
#endif
}
