// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

auto f(const quarry::DeviceNDArray<float>& a, const quarry::DeviceNDArray<float>& i) {
#ifdef QUARRY_VALID
  return a(i.astype<std::int64_t>());
#else
  return a(i);  // one error: an index array has integers: i.astype<std::int64_t>()
#endif
}
