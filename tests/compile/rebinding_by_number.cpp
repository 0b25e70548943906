// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  a(quarry::all) = 1.f;
#else
  a = 1.f;  // one error: a.fill(x) and a(all) = x write
#endif
}
