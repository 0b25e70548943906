// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<const float>& view) {
#ifdef QUARRY_VALID
  const quarry::DeviceNDArray<float> w(view.copy());
#else
  const quarry::DeviceNDArray<float> w(view);  // error: use of deleted function
#endif
  w.fill(1.f);
}
