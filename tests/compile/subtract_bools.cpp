// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<bool>& a, const quarry::DeviceNDArray<bool>& b) {
#ifdef QUARRY_VALID
  return a ^ b;
#else
  return a - b;  // one error: bools have no minus, as in NumPy: ~a negates, a ^ b is the difference
#endif
}
