// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<bool>& a) {
#ifdef QUARRY_VALID
  return !a;
#else
  return -a;  // error: the operation does not exist for these element types
#endif
}
