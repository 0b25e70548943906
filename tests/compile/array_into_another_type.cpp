// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  const quarry::DeviceNDArray<double> d = a.astype<double>();
#else
  const quarry::DeviceNDArray<double> d =
      a;  // one error: an array does not change its element type by itself: use a.astype<T>()
#endif
}
