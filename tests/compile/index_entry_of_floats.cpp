// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

quarry::IndexEntry f(const quarry::DeviceNDArray<float>& i) {
#ifdef QUARRY_VALID
  return i > 5.f;
#else
  return i;  // one error: an index array has integers, or bools if it is a mask
#endif
}
