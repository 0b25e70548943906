// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<float>& a) {
#ifdef QUARRY_VALID
  return quarry::var(a, {0, 1}, {.ddof = 1});
#else
  return quarry::var(a, {0, 1}, {1});  // error: could not convert
#endif
}
