// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(quarry::DeviceNDArray<float>& a) {
  const quarry::DeviceNDArray<const float> view = a;
#ifdef QUARRY_VALID
  a(0) = 1.f;
#else
  view(0) = 1.f;  // one error: the elements of this array are read-only
#endif
}
