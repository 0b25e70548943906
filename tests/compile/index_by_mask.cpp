// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  return a(a > 5.f);
#else
  return a(a > 5.f, 0);  // one error: a mask is the only entry of an index: nonzero(mask) has its
                         // positions along each axis
#endif
}
