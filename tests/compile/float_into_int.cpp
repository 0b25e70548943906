// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

void f(const quarry::DeviceNDArray<int>& n, const quarry::DeviceNDArray<float>& x) {
  using quarry::all;
#ifdef QUARRY_VALID
  n(all) = quarry::astype<int>(x * 2.f);
#else
  n(all) = x * 2.f;  // one error: use astype
#endif
}
