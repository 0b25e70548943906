// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <vector>

void f(quarry::DeviceNDArray<float>& a, const std::vector<float>& h) {
#ifdef QUARRY_VALID
  a = quarry::to_device(h);
#else
  a = h;  // one error: a = to_device(h) brings host memory
#endif
}
