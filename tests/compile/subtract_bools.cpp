// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<bool>& a, const quarry::DeviceNDArray<bool>& b) {
#ifdef QUARRY_VALID
  return a ^ b;
#else
  return a - b;  // error: the operation does not exist for these element types
#endif
}
