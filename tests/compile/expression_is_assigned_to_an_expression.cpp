// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<float>& a, const quarry::DeviceNDArray<float>& b) {
#ifdef QUARRY_VALID
  a(quarry::all) = a + b;
#else
  (a + b)(0) = a(0) + b(0);  // one error: an expression has no elements to write into
#endif
}
