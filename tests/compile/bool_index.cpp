// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  return a(1);
#else
  return a(true);  // error: no match for call
#endif
}
