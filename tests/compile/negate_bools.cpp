// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<bool>& a) {
#ifdef QUARRY_VALID
  return !a;
#else
  return -a;  // one error: bools have no minus, as in NumPy: ~a negates, a ^ b is the difference
#endif
}
