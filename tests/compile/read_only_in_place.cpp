// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(quarry::DeviceNDArray<float>& a) {
  const quarry::DeviceNDArray<const float> view = a;
#ifdef QUARRY_VALID
  a += view;
#else
  view += a;  // one error: the elements of this array are read-only: copy() gives an array
              // that can be written
#endif
}
