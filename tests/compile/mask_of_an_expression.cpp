// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  a(a > 5.f) += 1.f;
#else
  (a * 2.f)(a > 5.f) += 1.f;  // one error: an expression has no elements to write into
#endif
}
