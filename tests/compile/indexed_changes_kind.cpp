// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<int>& a, const quarry::DeviceNDArray<int>& i) {
#ifdef QUARRY_VALID
  a(i) = (a(i) * 0.5f).astype<int>();
#else
  a(i) = a(i) * 0.5f;  // one error: this conversion can lose the kind of the values; use astype
#endif
}
