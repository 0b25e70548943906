// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(quarry::DeviceNDArray<float>& a) {
  const quarry::DeviceNDArray<const float> view = a;
  using quarry::all;
#ifdef QUARRY_VALID
  a(all) = view + 1.f;
#else
  view(all) = a + 1.f;  // one error: the elements of this array are read-only
#endif
}
