// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(quarry::DeviceNDArray<int>& a) {
  const quarry::DeviceNDArray<const int> view = a;
#ifdef QUARRY_VALID
  a.fill(view(0).item());
#else
  view.fill(0);  // one error: the elements of this array are read-only
#endif
}
