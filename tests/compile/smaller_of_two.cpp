// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  return quarry::minimum(a, 1.f);
#else
  return quarry::min(a,
                     1.f);  // one error: min(a, axes) reduces: the smaller of two is minimum(a, b)
#endif
}
