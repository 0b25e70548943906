// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  a.broadcast_to({3, 4}).copy().fill(0.f);
#else
  a.broadcast_to({3, 4}).fill(0.f);  // one error: the elements of this array are read-only
#endif
}
