// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<int>& n) {
#ifdef QUARRY_VALID
  n *= 2;
#else
  n /= 2;  // one error: use astype
#endif
}
