// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

struct Pair {
  float x, y;
};
auto f(const quarry::DeviceNDArray<Pair>& a) {
#ifdef QUARRY_VALID
  return a.copy();
#else
  return a + a;  // one error: records have no arithmetic: compute with their fields
#endif
}
