// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void write(const quarry::DeviceNDArray<int>& a) {
#ifdef QUARRY_VALID
  a(0) = 1;
#else
  a(0) = 1.5;  // one error: this number would lose its kind in these elements: convert it first
#endif
}
