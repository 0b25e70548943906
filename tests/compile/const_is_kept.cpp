// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

quarry::DeviceNDArray<int> f(const quarry::DeviceNDArray<const int>& view) {
#ifdef QUARRY_VALID
  return view.copy();
#else
  return view;  // error: conver
#endif
}
