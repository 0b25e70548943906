// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(quarry::DeviceNDArray<int>& a) {
  const quarry::DeviceNDArray<const int> view = a;
#ifdef QUARRY_VALID
  a.fill(view(0).item());
#else
  view.fill(0);  // error: constraints not satisfied
#endif
}
