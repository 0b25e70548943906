// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(quarry::DeviceNDArray<float>& a, const quarry::DeviceNDArray<const float>& b) {
#ifdef QUARRY_VALID
  a(b(quarry::all, 0) > 5.f, 1) = 1.f;
#else
  b(b(quarry::all, 0) > 5.f, 1) = 1.f;  // one error: the elements of this array are read-only
#endif
}
