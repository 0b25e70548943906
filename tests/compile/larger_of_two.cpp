// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<float>& a, const quarry::DeviceNDArray<float>& b) {
#ifdef QUARRY_VALID
  return quarry::maximum(a, b);
#else
  return quarry::max(a, b);  // one error: max(a, axes) reduces: the larger of two is maximum(a, b)
#endif
}
