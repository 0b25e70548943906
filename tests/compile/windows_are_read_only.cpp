// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  quarry::flip(a) += 1.f;
#else
  quarry::sliding_window_view(a, 3) += 1.f;  // error: the elements of this array are read-only
#endif
}
