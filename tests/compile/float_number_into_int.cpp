// SPDX-License-Identifier: BSD-3-Clause
// error: no match for
#include <quarry/quarry.hpp>

void write(const quarry::DeviceNDArray<int>& a) {
#ifdef QUARRY_VALID
  a(0) = 1;
#else
  a(0) = 1.5;
#endif
}
