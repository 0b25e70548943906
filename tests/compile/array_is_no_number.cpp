// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

float f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  const float m = quarry::mean(a).item();
  return m;
#else
  const float m =
      quarry::mean(a);  // one error: an array is not a number: item() gives its only element
#endif
}
