// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<const float>& a, const quarry::DeviceNDArray<float>& b) {
#ifdef QUARRY_VALID
  b(a > 5.f) = 0.f;
#else
  a(b > 5.f) = 0.f;  // one error: the elements of this array are read-only: copy() gives an array
                     // that can be written
#endif
}
