// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<const float>& a, const quarry::DeviceNDArray<int>& i) {
#ifdef QUARRY_VALID
  a.copy()(i) = 1.f;
#else
  a(i) = 1.f;  // one error: the elements of this array are read-only: copy() gives an array that
               // can be written
#endif
}
