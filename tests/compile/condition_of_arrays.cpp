// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

int f(const quarry::DeviceNDArray<float>& a, const quarry::DeviceNDArray<float>& b) {
#ifdef QUARRY_VALID
  if (quarry::array_equal(a, b)) return 1;
  return 0;
#else
  if (a == b)
    return 1;  // one error: many elements have no single truth value: use all_of(e).item()
#endif
}
