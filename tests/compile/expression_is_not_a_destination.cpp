// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<float>& a, const quarry::DeviceNDArray<float>& b) {
#ifdef QUARRY_VALID
  a += b;
#else
  (a * 2.f) += b;  // one error: an expression has no elements to write into
#endif
}
