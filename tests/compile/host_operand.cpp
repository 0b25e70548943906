// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <vector>

auto f(const quarry::DeviceNDArray<float>& a, const std::vector<float>& h) {
#ifdef QUARRY_VALID
  return a + quarry::to_device(h);
#else
  return a +
         h;  // one error: host memory is no operand: bring it to the device with to_device(h) first
#endif
}
